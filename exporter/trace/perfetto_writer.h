// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "igpu/flight.h"
#include "igpu/job_recorder.h"

namespace igpu::exporter {

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
  std::uint64_t bytes_ = 0;
  std::uint64_t next_track_ = 1;
  std::unordered_map<std::string, std::vector<Lane>> lanes_;
  std::unordered_map<std::uint32_t, std::uint64_t> threads_;
};

}  // namespace igpu::exporter
