// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "igpu/job_recorder.h"

namespace igpu::exporter {

// The arguments of the command `trace`.
struct TraceArguments {
  enum class Histogram { none, queue, run, total };
  std::string action;  // record, report, timeline, export

  JobRecorderOptions recorder;  // record
  std::string output = "gpu.pftrace";
  std::chrono::milliseconds duration{0};  // 0: until ^C or the command ends
  std::uint64_t max_size = std::uint64_t{256} << 20;
  std::vector<std::string> command;

  std::string file;  // report, timeline, export
  std::size_t top = 0;
  Histogram histogram = Histogram::none;
  std::string by;                                  // engine, context, process, workload
  std::size_t width = 100;                         // timeline: characters of a line, at least 40
  std::optional<double> from_seconds, to_seconds;  // since the first event
};

// Runs `trace record`. Prints errors. Returns the exit status; that of the recorded command if there is one.
int record_trace(const TraceArguments& arguments);

// The error message for a recorder that could not be opened.
std::string explained(const JobRecorderError& error, const JobRecorderOptions& options);

}  // namespace igpu::exporter
