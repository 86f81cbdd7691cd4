// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "collector/collector.h"
#include "collector/shared/job_series.h"
#include "igpu/job.h"
#include "trace/job_counts.h"

namespace igpu {

// How long the GPU's jobs wait and run, counted inside the kernel; a scrape reads mapped memory.
class JobsCollector final : public Collector {
 public:
  // VideoJobs adds its samples: it needs the processes of the whole machine.
  static constexpr CounterMetric<Count, 3> kProcessVideoJobs{
      "intel_gpu_process_video_jobs_total",
      "Jobs of the process that the video engines have done. A picture is one job or more: docs/tracing.md.",
      {"device", "pid", "comm"}};

  static const CollectorInfo kInfo;

  explicit JobsCollector(const CollectorContext& context);

  void collect(ScrapePass& pass, SampleSink& out) override;

 private:
  void report_losses(const JobCounters& counters, ScrapePass& pass, SampleSink& out);

  const Gpu& gpu_;
  Machine& machine_;
  std::optional<Nanoseconds> misses_read_;
  std::optional<std::uint64_t> misses_;
};

}  // namespace igpu
