// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "collector/collector.h"
#include "collector/jobs/jobs_facts.h"
#include "collector/shared/job_series.h"
#include "igpu/job.h"
#include "trace/job_counts.h"

namespace igpu {
namespace {

constexpr HistogramMetric<Seconds, 3, kJobBounds.size()> kQueue{
    "intel_gpu_job_queue_seconds",
    "Time from the submission of a job to its start: in the driver's queue, for other jobs, and for the engine.",
    {"device", "class", "source"},
    kJobBounds};
constexpr HistogramMetric<Seconds, 3, kJobBounds.size()> kRun{
    "intel_gpu_job_run_seconds",
    "Time from the start of a job to its end; only jobs whose end is exact.",
    {"device", "class", "source"},
    kJobBounds};
constexpr CounterMetric<Count, 4> kJobs{"intel_gpu_jobs_total",
                                        "Jobs by outcome: completed, bound (its end is not known exactly), "
                                        "long_running (its end is not reported), error, evicted (its end was lost).",
                                        {"device", "class", "source", "outcome"}};
constexpr CounterMetric<Count, 2> kJobLost{"intel_gpu_job_events_lost_total",
                                           "Events in no histogram: recursion, table_full, unmatched. One count for "
                                           "all GPUs of a driver, repeated at each: take the maximum, not the sum.",
                                           {"device", "reason"}};
constexpr CounterMetric<Count, 3> kProcessVideoJobs{
    "intel_gpu_process_video_jobs_total",
    "Jobs of the process that the video engines have done. A picture is one job or more: docs/tracing.md.",
    {"device", "pid", "comm"}};
constexpr FeatureDescriptor kJobFeature{"jobs", "Time that jobs wait and run, counted by BPF programs.",
                                        Need::job_events};

// The number of missed events is the only one that takes system calls.
constexpr Nanoseconds kMissesEvery = std::chrono::seconds(10);

constexpr std::array<EarlyPart, 1> kOpenedForJobs{EarlyPart::job_counters};

// How long the GPU's jobs wait and run, counted inside the kernel; a scrape reads mapped memory.
class JobsCollector final : public Collector {
 public:
  static constexpr CollectorInfo kInfo{
      .name = "jobs",
      .help = "How long jobs wait and run, as histograms; video jobs by process.",
      .enabled_by_default = false,
      .runs_while_suspended = true,
      .reads_processes = true,
      .opened_early = kOpenedForJobs,
      .metrics = kListOf<MetricDescriptor, kQueue, kRun, kJobs, kJobLost, kProcessVideoJobs>,
      .features = kListOf<FeatureDescriptor, kJobFeature>,
      .notes =
          "While it is on, the modules that report jobs and hangs (gpu_sched, xe, i915) cannot be unloaded. It counts "
          "jobs that are submitted after the exporter started. Outcomes: `bound`: the end was not reported from an "
          "interrupt (i915: nothing waited for the job), so its exact time is unknown; `long_running`: a job of a VM "
          "whose jobs the kernel does not follow (xe); `error`: the job was reset or banned; `evicted`: its end was "
          "never reported. Lost events: `recursion`: the event came while the processor handled another one; "
          "`table_full`: too many jobs were in flight; `unmatched`: the submission of the job was not seen. The "
          "longest wait of 95 % of the jobs of a class: `histogram_quantile(0.95, sum by (device, class, le) "
          "(rate(intel_gpu_job_queue_seconds_bucket[5m])))`. A process has a series of video jobs while it runs, holds "
          "a client of the GPU, and is visible; the jobs of one for which the kernel's table of 959 processes had no "
          "room are in no series. Jobs that were reset or lost are not counted.",
  };

  explicit JobsCollector(const CollectorContext& context) : gpu_(context.gpu), machine_(context.machine) {}

  void collect(ScrapePass& pass, SampleSink& out) override {
    if (!machine_.job_counters) return out.missing(kJobFeature, machine_.job_counters);
    const JobDriver driver = gpu_.driver == Driver::i915 ? JobDriver::i915 : JobDriver::drm_sched;
    const Reading<const JobCounters*> counters = (*machine_.job_counters)->get(driver, pass.now());
    if (!counters) return out.missing(kJobFeature, counters);
    out.available(kJobFeature);
    pass.facts().put(gpu_.address, CountedJobs{*counters});
    const std::vector<JobCounts> series = read_job_counts((*counters)->slots(), gpu_.address);
    for (const JobCounts& counts : series) {
      const std::string_view engine_class = to_string(counts.engine_class);
      const std::string_view source = to_string(counts.source);
      out.add(kQueue, {gpu_.address, engine_class, source}, {counts.queue, Seconds{counts.queue_seconds}});
      out.add(kRun, {gpu_.address, engine_class, source}, {counts.run, Seconds{counts.run_seconds}});
      for (std::size_t i = 0; i < JOB_OUTCOMES; ++i) {
        if (is_possible_outcome(counts.source, i))
          out.add(kJobs, {gpu_.address, engine_class, source, kJobOutcomes[i]}, count_of(counts.outcomes[i]));
      }
    }
    report_losses(**counters, pass, out);
  }

 private:
  void report_losses(const JobCounters& counters, ScrapePass& pass, SampleSink& out) {
    const LostJobEvents lost = read_lost_job_events(counters.slots());
    out.add(kJobLost, {gpu_.address, "table_full"}, count_of(lost.table_full));
    out.add(kJobLost, {gpu_.address, "unmatched"}, count_of(lost.unmatched));
    if (!misses_read_ || pass.now() - *misses_read_ >= kMissesEvery) {
      const Reading<std::uint64_t> misses = counters.recursion_misses();
      misses_read_ = pass.now();
      if (misses.is_failure()) out.failed(misses.failure());
      if (misses) misses_ = *misses;
    }
    if (misses_) out.add(kJobLost, {gpu_.address, "recursion"}, count_of(*misses_));
  }

  const Gpu& gpu_;
  Machine& machine_;
  std::optional<Nanoseconds> misses_read_;
  std::optional<std::uint64_t> misses_;
};

// Video jobs by process, for the collector `jobs`. The kernel counts the jobs, and the names come from the scan of
// processes that all collectors share, so this adds no system call.
class VideoJobs final : public MachineCollector {
 public:
  explicit VideoJobs(const MachineContext&) {}

  void collect(MachinePass& pass, SampleSink& out) override {
    const auto counters = pass.facts().by_device<CountedJobs>();
    if (counters.empty()) return;
    const auto clients = pass.clients();
    if (!clients) {
      if (clients.is_failure()) out.failed(clients.failure());
      return;
    }
    const ClientSnapshot& snapshot = **clients;
    std::set<const JobCounters*> distinct;  // GPUs of one driver share them
    for (const auto& [device, of_driver] : counters) distinct.insert(of_driver.counters);
    std::map<std::pair<std::string, std::uint32_t>, std::uint64_t> jobs_of;  // by device and PID
    for (const JobCounters* const one : distinct) {
      ProcessJobSlots(one->process_slots()).for_each([&](const ProcessJobs& jobs) {
        if (jobs.counts.engine_class != JobClass::video) return;
        const ClientProcess* const process = snapshot.process(jobs.pid);
        // The PID may be that of another process by now, or of another namespace.
        if (process == nullptr || process->start_time_ticks != jobs.start_ticks) return;
        const auto device = counters.find(std::string(jobs.device));
        if (device == counters.end() || device->second.counters != one) return;
        jobs_of[{device->first, jobs.pid}] += jobs.counts.done();
      });
      if (!one->all_classes()) free_ended(*one, snapshot);
    }
    for (const auto& [key, jobs] : jobs_of)
      out.add(kProcessVideoJobs, {key.first, std::to_string(key.second), snapshot.process(key.second)->comm},
              count_of(jobs));
  }

 private:
  // Frees the groups of processes that have ended, also those of GPUs that are not monitored.
  void free_ended(const JobCounters& counters, const ClientSnapshot& snapshot) {
    auto& seen = seen_[&counters];
    std::map<std::size_t, JobCounts> now;
    ProcessJobSlots slots(counters.process_slots());
    slots.for_each([&](const ProcessJobs& jobs) {
      if (!has_ended(jobs, snapshot)) return;
      const auto before = seen.find(jobs.group);
      // The kernel may still count a job that has just ended: a group is complete if it stands still.
      if (before != seen.end() && !jobs.in_flight && before->second == jobs.counts)
        slots.free(jobs.group);
      else
        now[jobs.group] = jobs.counts;
    });
    seen = std::move(now);
  }

  std::map<const JobCounters*, std::map<std::size_t, JobCounts>> seen_;  // at the last scrape, by group
};

}  // namespace

CollectorEntry jobs_collector() { return entry<JobsCollector, VideoJobs>(); }

}  // namespace igpu
