// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "igpu/job_recorder.h"

namespace igpu::exporter {

// What a file of `trace record` holds.
struct TraceFile {
  std::vector<Job> jobs;  // by submission
  std::vector<FenceWait> waits;
  std::vector<IoctlCall> calls;
  std::vector<CpuSwitch> switches;
  std::map<std::uint32_t, std::string> workloads;  // by PID of a process that submitted jobs
  JobRecorderCounts counts;
  bool has_counts = false;
  bool ended = false;  // the recording ended by itself; the counts are final
  std::uint64_t first_ns = 0, last_ns = 0;
  std::uint64_t damaged = 0;                // packets
  std::optional<std::uint64_t> cut_off_at;  // where a packet begins that the file ends in
  std::optional<std::uint64_t> damaged_at;  // first byte that is no packet, or is within a damaged one

  bool whole() const { return damaged == 0 && !cut_off_at && !damaged_at; }
};

// Pure. nullopt: no trace of this program.
std::optional<TraceFile> read_trace(std::string_view bytes);

}  // namespace igpu::exporter
