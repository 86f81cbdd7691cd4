// SPDX-License-Identifier: Apache-2.0
#include "collector/jobs.h"

#include <chrono>
#include <cstddef>
#include <string_view>

namespace igpu {
namespace {

// The number of missed events is the only one that takes system calls.
constexpr Nanoseconds kMissesEvery = std::chrono::seconds(10);

Count count_of(std::uint64_t number) { return Count{static_cast<double>(number)}; }

}  // namespace

JobsCollector::JobsCollector(const CollectorContext& context) : gpu_(context.gpu), machine_(context.machine) {}

void JobsCollector::collect(ScrapePass& pass, SampleSink& out) {
  if (machine_.job_counters == nullptr) return out.absent(kFeature, {Reason::hardware});
  const JobDriver driver = gpu_.driver == Driver::i915 ? JobDriver::i915 : JobDriver::drm_sched;
  const Reading<const JobCounters*> counters = machine_.job_counters->get(driver, pass.now());
  if (!counters) return out.missing(kFeature, counters);
  out.available(kFeature);
  pass.jobs_counted(**counters);
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

void JobsCollector::report_losses(const JobCounters& counters, ScrapePass& pass, SampleSink& out) {
  const LostJobEvents lost = read_lost_job_events(counters.slots());
  out.add(kLost, {gpu_.address, "table_full"}, count_of(lost.table_full));
  out.add(kLost, {gpu_.address, "unmatched"}, count_of(lost.unmatched));
  if (!misses_read_ || pass.now() - *misses_read_ >= kMissesEvery) {
    const Reading<std::uint64_t> misses = counters.recursion_misses();
    misses_read_ = pass.now();
    if (misses.is_failure()) out.failed(misses.failure());
    if (misses) misses_ = *misses;
  }
  if (misses_) out.add(kLost, {gpu_.address, "recursion"}, count_of(*misses_));
}

}  // namespace igpu
