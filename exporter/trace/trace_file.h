// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options.h"
#include "igpu/job_recorder.h"

namespace igpu::exporter {

// The contents of a file that `trace record` wrote.
struct TraceFile {
  std::vector<Job> jobs;  // in the order of submission
  std::vector<FenceWait> waits;
  std::vector<IoctlCall> calls;
  std::vector<CpuSwitch> switches;
  // Of a flight.
  struct Counter {
    std::string name, unit;
    std::vector<double> values;
  };
  std::map<std::uint64_t, Counter> counters;       // by track
  std::vector<std::string> marks;                  // names of instants
  std::vector<std::string> clients;                // names of slices
  std::map<std::uint32_t, std::string> workloads;  // by PID of a process that submitted jobs
  JobRecorderCounts counts;
  bool has_counts = false;
  bool ended = false;  // the recorder closed the file; the counts are final
  std::uint64_t first_ns = 0, last_ns = 0;
  std::uint64_t damaged = 0;                // damaged packets
  std::optional<std::uint64_t> cut_off_at;  // begin of the last packet, if the file ends before the packet does
  std::optional<std::uint64_t> damaged_at;  // first byte that belongs to no packet, or to a damaged one

  bool whole() const { return damaged == 0 && !cut_off_at && !damaged_at; }
};

// Pure. nullopt: the bytes are not a trace of this program.
std::optional<TraceFile> read_trace(std::string_view bytes);

// The output of `trace report`, `timeline` and `export`. Pure functions.

// Counts of events and jobs, and of losses by cause.
std::string trace_summary(const TraceFile& file);
std::string trace_overview(const TraceFile& file);  // also of a flight
std::string jobs_csv(const TraceFile& file);
std::string top_jobs(const TraceFile& file, std::size_t count);
std::string job_histogram(const TraceFile& file, TraceArguments::Histogram which);
std::string jobs_by(const TraceFile& file, std::string_view what);
std::string timeline(const TraceFile& file, const TraceArguments& arguments);

// "0000:03:00.0 rcs0"; if the kernel named no ring, the source.
std::string ring_of(const Job& job);
// What delayed the job most: "long queue", "slow run", ...
std::string_view blocker(const Job& job);

}  // namespace igpu::exporter
