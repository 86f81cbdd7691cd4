// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cli/options.h"
#include "igpu/flight.h"
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

namespace perfetto {
enum class Category : std::uint8_t;  // perfetto_fields.h
}

struct TraceClocks {
  std::uint64_t monotonic_ns = 0, boottime_ns = 0, realtime_ns = 0;  // at one moment
};

// Writes a Perfetto trace packet by packet, so that the file is readable whenever the program ends. A job becomes
// slices on the track of its ring. The slices' annotations hold all its times; trace_file.h reads the job from them.
class PerfettoWriter final : public JobSink {
 public:
  using Output = std::function<void(std::string_view bytes)>;
  PerfettoWriter(Output output, const TraceClocks& clocks);

  void add(const Job& job) override;
  void add(const FenceWait& wait) override;
  void add(const IoctlCall& call) override;
  void add(const CpuSwitch& cpu_switch) override;
  void add(const JobProcess& process) override;
  // Can be called repeatedly; readers use the last counts in the file.
  void add_counts(const JobRecorderCounts& counts, std::uint64_t now_ns, bool ended);

  // Of a flight. unit: "" for none.
  std::uint64_t counter_track(std::string_view name, std::string_view unit);
  void add_value(std::uint64_t track, std::uint64_t time_ns, double value);
  // An instant: what happened, and to whom.
  void add_mark(const std::string& track, std::string_view text, std::uint64_t time_ns);
  void add_client(const Flight::Client& client);

  void flush();
  std::uint64_t bytes() const { return bytes_ + buffer_.size(); }

 private:
  struct Lane {
    std::uint64_t track = 0, last_end = 0;
  };
  std::uint64_t lane(const std::string& name, std::uint64_t begin, std::uint64_t end);
  std::uint64_t thread_track(std::uint32_t pid, std::uint32_t tid);
  template <class Fill>
  void packet(std::uint64_t time, Fill&& fill);
  template <class Fill>
  void slice(std::uint64_t track, perfetto::Category category, std::uint64_t begin, std::uint64_t end,
             std::string_view name, Fill&& notes);
  template <class Fill>
  std::uint64_t describe(std::uint64_t track, Fill&& fill);  // returns the track

  Output output_;
  std::uint64_t boottime_offset_;
  std::string buffer_;
  std::string ring_, name_;  // of the job that is written; kept for their memory
  std::uint64_t bytes_ = 0;
  std::uint64_t next_track_ = 1;
  std::unordered_map<std::string, std::vector<Lane>> lanes_;
  std::unordered_map<std::uint32_t, std::uint64_t> threads_;
};

// The error message for a recorder that could not be opened.
std::string explained(const JobRecorderError& error, const JobRecorderOptions& options);

}  // namespace igpu::exporter
