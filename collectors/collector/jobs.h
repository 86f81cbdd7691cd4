// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "collector/collector.h"
#include "collector/shared/job_series.h"
#include "igpu/job.h"
#include "source/job_counts.h"

namespace igpu {

// How long the GPU's jobs wait and run, counted inside the kernel; a scrape reads mapped memory.
class JobsCollector final : public Collector {
 public:
  static constexpr HistogramMetric<Seconds, 3, kJobBounds.size()> kQueue{
      "intel_gpu_job_queue_seconds",
      "Time from the submission of a job to its start: in the driver's queue, for other jobs, and for the engine.",
      {"device", "class", "source"},
      kJobBounds};
  static constexpr HistogramMetric<Seconds, 3, kJobBounds.size()> kRun{
      "intel_gpu_job_run_seconds",
      "Time from the start of a job to its end; only jobs whose end is exact.",
      {"device", "class", "source"},
      kJobBounds};
  static constexpr Metric<Count, 4> kJobs{"intel_gpu_jobs_total",
                                          Kind::counter,
                                          "Jobs by outcome: completed, bound (its end is not known exactly), "
                                          "long_running (its end is not reported), error, "
                                          "evicted (its end was lost).",
                                          {"device", "class", "source", "outcome"}};
  static constexpr Metric<Count, 2> kLost{
      "intel_gpu_job_events_lost_total",
      Kind::counter,
      "Events in no histogram: recursion, table_full, unmatched. One count for all GPUs of a driver, repeated at each: "
      "take the maximum, not the sum.",
      {"device", "reason"}};
  // VideoJobs adds its samples: it needs the processes of the whole machine.
  static constexpr Metric<Count, 3> kProcessVideoJobs{
      "intel_gpu_process_video_jobs_total",
      Kind::counter,
      "Jobs of the process that the video engines have done. A picture is one job or more: docs/channels.md.",
      {"device", "pid", "comm"}};
  static constexpr FeatureDescriptor kFeature{"jobs", "Time that jobs wait and run, counted by BPF programs.",
                                              Need::job_events};

  static constexpr std::array<const MetricDescriptor*, 5> kMetrics{&kQueue, &kRun, &kJobs, &kLost, &kProcessVideoJobs};
  static constexpr std::array<const FeatureDescriptor*, 1> kFeatures{&kFeature};
  static constexpr CollectorInfo kInfo{
      .name = "jobs",
      .help = "How long jobs wait and run, as histograms; video jobs by process.",
      .enabled_by_default = false,
      .runs_while_suspended = true,
      .reads_processes = true,
      .metrics = kMetrics,
      .features = kFeatures,
      .notes =
          "While it is on, the modules that report jobs and hangs (gpu_sched, xe, i915) cannot be unloaded. It counts "
          "jobs that are "
          "submitted after the exporter started. Outcomes: `bound`: the end was not reported from an interrupt (i915: "
          "nothing waited for the job), so its exact time is unknown; `long_running`: a job of a VM whose jobs the "
          "kernel does not follow (xe); `error`: the job was reset or banned; `evicted`: its end was never reported. "
          "Lost events: `recursion`: the event came while the processor handled another one; `table_full`: too many "
          "jobs were in flight; `unmatched`: the submission of the job was not seen. The longest wait of 95 % of the "
          "jobs of a class: `histogram_quantile(0.95, sum by (device, class, le) "
          "(rate(intel_gpu_job_queue_seconds_bucket[5m])))`. A process has a series of video jobs while it runs, holds "
          "a "
          "client of the GPU, and is visible; the jobs of one for which the kernel's table of 959 processes had no "
          "room "
          "are in no series. Jobs that were reset or lost are not counted.",
  };

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
