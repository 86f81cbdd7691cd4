// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>

#include "collector/collector.h"
#include "collector/processes/fdinfo_usage.h"
#include "collector/shared/shared_options.h"

namespace igpu {

// Engine time and memory of every process that holds a client of the GPU, as DRM fdinfo reports them, and the process's
// names. A client counts once, for the lowest PID that holds it.
class FdinfoCollector final : public Collector {
 public:
  static const CollectorInfo kInfo;

  explicit FdinfoCollector(const CollectorContext& context);

  void collect(ScrapePass& pass, SampleSink& out) override;
  void gpu_is_suspended() override { table_.note_sleep(machine_.clock.now()); }

 private:
  // Whether the driver writes a value into fdinfo: unknown before the first client, yes once a client has it.
  enum class Shown { unknown, no, yes };

  void report_finder(const ClientSnapshot& snapshot, SampleSink& out) const;
  void report_features(const ClientSnapshot& snapshot, std::span<const DrmClient> clients, SampleSink& out);
  void write(const ProcessUsage& usage, SampleSink& out);

  Machine& machine_;
  const Gpu& gpu_;
  Shown engine_time_shown_ = Shown::unknown;
  Shown memory_shown_ = Shown::unknown;
  const Nanoseconds min_window_;
  const std::size_t max_processes_;
  const bool per_process_;
  UsageTable& table_;
  std::vector<std::pair<std::string_view, std::array<double, 5>>> regions_;  // kept to reuse its memory
};

}  // namespace igpu
