// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cerrno>
#include <map>
#include <memory>
#include <numeric>

#include "fake/simulation/simulated_parts.h"
#include "fake/simulation/simulation.h"
#include "support/fake_clock.h"
#include "trace/job_counts.h"

TEST_SUITE_BEGIN("simulated_jobs");

using namespace igpu;
using namespace igpu::test;
using namespace std::chrono_literals;

namespace {

struct Jobs {
  explicit Jobs(std::string_view profile) : simulated(SimulatedMachine::create(profile, clock)) {}
  std::vector<JobCounts> of(std::size_t gpu, JobDriver driver) {
    const Machine machine = simulated->machine();
    const auto counters = (*machine.job_counters)->get(driver, clock.now());
    REQUIRE(counters);
    return read_job_counts((*counters)->slots(), simulated->script().gpus.at(gpu).address);
  }

  FakeClock clock;
  std::unique_ptr<SimulatedMachine> simulated;
};

std::uint64_t total(const std::array<std::uint64_t, kJobBuckets>& buckets) {
  return std::accumulate(buckets.begin(), buckets.end(), std::uint64_t{0});
}

const JobCounts* of_class(const std::vector<JobCounts>& all, JobClass wanted) {
  for (const JobCounts& counts : all) {
    if (counts.engine_class == wanted) return &counts;
  }
  return nullptr;
}

}  // namespace

TEST_CASE("counters of simulated jobs never decrease, and histograms hold the jobs whose end is exact") {
  Jobs jobs("rack");
  std::vector<JobCounts> before = jobs.of(2, JobDriver::drm_sched);
  REQUIRE(before.size() >= 3);
  for (int step = 0; step < 40; ++step) {
    jobs.clock.advance(7'300ms);
    const std::vector<JobCounts> now = jobs.of(2, JobDriver::drm_sched);
    REQUIRE(now.size() == before.size());
    for (std::size_t i = 0; i < now.size(); ++i) {
      CHECK(now[i].source == JobSource::drm_sched);
      CHECK(now[i].outcomes[JOB_COMPLETED] > before[i].outcomes[JOB_COMPLETED]);
      CHECK(now[i].outcomes[JOB_COMPLETED] == total(now[i].run));
      CHECK(now[i].queue_seconds > before[i].queue_seconds);
      for (std::size_t bucket = 0; bucket < kJobBuckets; ++bucket) {
        CHECK(now[i].queue[bucket] >= before[i].queue[bucket]);
        CHECK(now[i].run[bucket] >= before[i].run[bucket]);
      }
    }
    before = now;
  }
}

TEST_CASE("simulated jobs run as long as their engines are busy; of those that nobody waits for no end is known") {
  Jobs jobs("rack");
  std::size_t gpu = 0;
  double known_ends = 1;
  SUBCASE("i915") {
    gpu = 1;
    known_ends = 7.0 / 8;
  }
  SUBCASE("xe") { gpu = 2; }
  const JobDriver driver = gpu == 1 ? JobDriver::i915 : JobDriver::drm_sched;
  const std::vector<JobCounts> before = jobs.of(gpu, driver);
  const auto from = jobs.simulated->script_time(jobs.clock.now());
  jobs.clock.advance(600s);
  const std::vector<JobCounts> after = jobs.of(gpu, driver);
  const auto to = jobs.simulated->script_time(jobs.clock.now());
  for (std::size_t i = 0; i < kEngineClasses; ++i) {
    CAPTURE(i);
    double busy = 0;
    for (const auto& engine : jobs.simulated->script().gpus[gpu].engines)
      if (engine.model.engine_class == static_cast<EngineClass>(i))
        busy += static_cast<double>(engine.busy.integral(to) - engine.busy.integral(from)) / 1e9;
    if (busy < 1) continue;
    const auto job_class = static_cast<JobClass>(i);
    const double ran = of_class(after, job_class)->run_seconds - of_class(before, job_class)->run_seconds;
    CHECK(ran == doctest::Approx(known_ends * busy).epsilon(0.01));
  }
}

TEST_CASE("simulated jobs are also counted by process; with the kernel's own they are all jobs") {
  Jobs jobs("rack");
  std::size_t gpu = 2;
  SUBCASE("i915") { gpu = 1; }
  SUBCASE("xe") { gpu = 2; }
  const JobDriver driver = gpu == 1 ? JobDriver::i915 : JobDriver::drm_sched;
  jobs.clock.advance(100s);
  const std::vector<JobCounts> all = jobs.of(gpu, driver);
  const std::string& address = jobs.simulated->script().gpus.at(gpu).address;
  const auto counters = (*jobs.simulated->machine().job_counters)->get(driver, jobs.clock.now());
  REQUIRE(counters);
  struct Sum {
    std::array<std::uint64_t, JOB_OUTCOMES> outcomes{};
    double run_seconds = 0;
    std::uint64_t of_processes = 0;
  };
  std::map<JobClass, Sum> sums;
  ProcessJobSlots((*counters)->process_slots()).for_each([&](const ProcessJobs& one) {
    if (one.device != address) return;
    CHECK((one.pid == 0 || jobs.simulated->script().process(one.pid) != nullptr));
    CHECK(one.in_flight);
    Sum& sum = sums[one.counts.engine_class];
    for (std::size_t i = 0; i < JOB_OUTCOMES; ++i) sum.outcomes[i] += one.counts.outcomes[i];
    sum.run_seconds += one.counts.run_seconds;
    if (one.pid != 0) sum.of_processes += one.counts.outcomes[JOB_COMPLETED];
  });
  REQUIRE(sums.size() == all.size());
  for (const auto& [engine_class, sum] : sums) {
    CHECK(sum.outcomes == of_class(all, engine_class)->outcomes);
    CHECK(sum.run_seconds == doctest::Approx(of_class(all, engine_class)->run_seconds));
    CHECK(sum.of_processes > 0);
  }
}

TEST_CASE("an i915 GPU has jobs for which nobody waits, an xe GPU none") {
  Jobs jobs("rack");
  const std::vector<JobCounts> i915 = jobs.of(1, JobDriver::i915);
  REQUIRE(of_class(i915, JobClass::video) != nullptr);
  CHECK(of_class(i915, JobClass::video)->source == JobSource::i915);
  CHECK(of_class(i915, JobClass::video)->outcomes[JOB_BOUND] > 0);
  for (const JobCounts& counts : jobs.of(2, JobDriver::drm_sched)) CHECK(counts.outcomes[JOB_BOUND] == 0);
}

TEST_CASE("a GPU that does nothing has no jobs, and a user without permission none at all") {
  CHECK(Jobs("asleep").of(1, JobDriver::drm_sched).empty());
  Jobs locked("locked");
  CHECK((*locked.simulated->machine().job_counters)->get(JobDriver::i915, 0s).absent() ==
        Absent{Reason::permission, EPERM});
}

TEST_SUITE_END();
