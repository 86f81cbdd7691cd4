// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "collector/collectors.h"
#include "collector/shared/job_series.h"
#include "support/fake_job_counters.h"
#include "support/gpu_tree.h"
#include "support/test_machine.h"

TEST_SUITE_BEGIN("jobs");

using namespace igpu;
using namespace igpu::test;
using namespace std::chrono_literals;

namespace {

constexpr std::string_view kQueue = "intel_gpu_job_queue_seconds", kRun = "intel_gpu_job_run_seconds",
                           kJobs = "intel_gpu_jobs_total", kLost = "intel_gpu_job_events_lost_total";

class JobsOf {
 public:
  explicit JobsOf(const char* driver) {
    machine.machine().job_counters = &counters;
    add_gpu(machine.tree,
            {.pci_path = "pci0000:00/0000:00:02.0", .driver = driver, .card = "card0", .render_node = "renderD128"});
    run.emplace(machine, machine.gpus().at(0));
  }
  std::vector<std::uint64_t> buckets(std::string_view metric) {
    for (const auto& sample : run->sink().samples().samples()) {
      if (sample.metric->name != metric) continue;
      const auto counts = run->sink().samples().bucket_counts(sample);
      return {counts.begin(), counts.end()};
    }
    return {};
  }

  TestMachine machine;
  FakeJobCounters counters;
  std::optional<CollectorRun<jobs_collector>> run;
};

}  // namespace

TEST_CASE("the buckets are 2^k us, k = 4 to 24") {
  CHECK(kJobBounds.size() == 21);
  CHECK(kJobBounds.front() == 16e-6);
  CHECK(kJobBounds.back() == 16.777216);
}

TEST_CASE("histograms and outcomes of an xe card come from the scheduler's counters") {
  JobsOf jobs("xe");
  std::uint64_t* const group = jobs.counters.add_group("0000:00:02.0", JOB_SOURCE_DRM_SCHED, JOB_CLASS_VIDEO);
  group[JOB_OUTCOME + JOB_COMPLETED] = 5;
  group[JOB_OUTCOME + JOB_BOUND] = 3;
  group[JOB_OUTCOME + JOB_LONG_RUNNING] = 2;
  group[JOB_OUTCOME + JOB_ERROR] = 1;
  group[JOB_QUEUE + 3] = 8;
  group[JOB_QUEUE_NS] = 2'000'000'000;
  group[JOB_RUN + JOB_BUCKETS - 1] = 5;
  group[JOB_RUN_NS] = 90'000'000'000;
  jobs.counters.slot(JOB_LOST_UNMATCHED) = 4;
  jobs.counters.misses = std::uint64_t{3};
  jobs.run->collect();

  CHECK(jobs.counters.asked == JobDriver::drm_sched);
  CHECK(jobs.run->available("jobs"));
  CHECK(jobs.run->value(kQueue, {{"device", "0000:00:02.0"}, {"class", "video"}, {"source", "drm_sched"}}) == 2);
  CHECK(jobs.buckets(kQueue)[3] == 8);
  CHECK(jobs.run->value(kRun) == 90);
  CHECK(jobs.buckets(kRun).back() == 5);
  CHECK(jobs.run->value(kJobs, {{"class", "video"}, {"outcome", "completed"}}) == 5);
  CHECK(jobs.run->value(kJobs, {{"outcome", "long_running"}}) == 2);
  CHECK(jobs.run->value(kJobs, {{"outcome", "error"}}) == 1);
  CHECK(jobs.run->value(kJobs, {{"outcome", "evicted"}}) == 0);
  CHECK(jobs.run->value(kJobs, {{"outcome", "bound"}}) == 3);
  CHECK(jobs.run->value(kLost, {{"reason", "unmatched"}}) == 4);
  CHECK(jobs.run->value(kLost, {{"reason", "table_full"}}) == 0);
  CHECK(jobs.run->value(kLost, {{"reason", "recursion"}}) == 3);
}

TEST_CASE("an i915 GPU has bound jobs and no long-running ones") {
  JobsOf jobs("i915");
  jobs.counters.add_group("0000:00:02.0", JOB_SOURCE_I915, JOB_CLASS_RENDER)[JOB_OUTCOME + JOB_BOUND] = 6;
  jobs.run->collect();
  CHECK(jobs.counters.asked == JobDriver::i915);
  CHECK(jobs.run->value(kJobs, {{"source", "i915"}, {"outcome", "bound"}}) == 6);
  CHECK(jobs.run->count(kJobs, {{"outcome", "long_running"}}) == 0);
}

TEST_CASE("without a job there is no series of a class, and the feature is available") {
  JobsOf jobs("xe");
  jobs.run->collect();
  CHECK(jobs.run->available("jobs"));
  CHECK(jobs.run->count(kQueue) == 0);
  CHECK(jobs.run->count(kJobs) == 0);
  CHECK(jobs.run->value(kLost, {{"reason", "unmatched"}}) == 0);
}

TEST_CASE("why there are no counters is the feature's reason, not a failure") {
  JobsOf jobs("xe");
  jobs.counters.why_not = Absent{Reason::permission, EPERM};
  jobs.run->collect();
  CHECK(jobs.run->missing("jobs") == Reason::permission);
  CHECK(jobs.run->failures() == 0);
  CHECK(jobs.run->sink().samples().samples().empty());
}

TEST_CASE("missed events are read at most every ten seconds; a failure is reported and the last number stays") {
  JobsOf jobs("xe");
  jobs.counters.misses = std::uint64_t{1};
  jobs.run->collect();
  jobs.run->collect_after(9s);
  CHECK(jobs.counters.misses_read == 1);
  jobs.counters.misses = Failure{std::make_error_code(std::errc::io_error), "fdinfo"};
  jobs.run->collect_after(1s);
  CHECK(jobs.counters.misses_read == 2);
  CHECK(jobs.run->failures() == 1);
  CHECK(jobs.run->value(kLost, {{"reason", "recursion"}}) == 1);
}

TEST_CASE("a kernel that does not count missed events has no such series") {
  JobsOf jobs("xe");
  jobs.counters.misses = Absent{Reason::kernel, ENOENT};
  jobs.run->collect();
  CHECK(jobs.run->count(kLost, {{"reason", "recursion"}}) == 0);
  CHECK(jobs.run->failures() == 0);
}

TEST_SUITE_END();
