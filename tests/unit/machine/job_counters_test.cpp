// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cerrno>
#include <chrono>

#include "machine/driver_events.h"
#include "support/fake_job_counters.h"

TEST_SUITE_BEGIN("job_counters");

using namespace igpu;
using namespace igpu::test;
using namespace std::chrono_literals;

namespace {

int opened = 0;
bool opened_all_classes = false;
Absent refusal{Reason::kernel, ENOENT};
bool loaded = false;

Reading<std::unique_ptr<JobCounters>> open(JobDriver, bool all_classes) {
  opened_all_classes = all_classes;
  ++opened;
  if (loaded) return std::unique_ptr<JobCounters>(std::make_unique<FakeJobCounters>());
  return refusal;
}

void reset(Absent why, bool is_loaded) {
  opened = 0;
  refusal = why;
  loaded = is_loaded;
}

}  // namespace

TEST_CASE("counters are opened once for each driver and stay open") {
  reset({}, true);
  JobCountersOnDemand counters(false, &open);
  const auto first = counters.get(JobDriver::i915, 0s);
  REQUIRE(first);
  loaded = false;
  const auto later = counters.get(JobDriver::i915, 10min);
  REQUIRE(later);
  CHECK(*first == *later);
  CHECK(opened == 1);
  CHECK_FALSE(counters.get(JobDriver::drm_sched, 10min));
  CHECK(opened == 2);
}

TEST_CASE("jobs of all classes are counted by process only if somebody wants them") {
  for (const bool wanted : {true, false}) {
    reset({}, true);
    JobCountersOnDemand counters(wanted, &open);
    REQUIRE(counters.get(JobDriver::i915, 0s));
    CHECK(opened_all_classes == wanted);
  }
}

TEST_CASE("a driver that is loaded later is found within a minute") {
  reset({Reason::kernel, ENOENT}, false);
  JobCountersOnDemand counters(false, &open);
  CHECK(counters.get(JobDriver::drm_sched, 1s).absent() == Absent{Reason::kernel, ENOENT});
  loaded = true;
  CHECK_FALSE(counters.get(JobDriver::drm_sched, 60s));
  CHECK(opened == 1);
  CHECK(counters.get(JobDriver::drm_sched, 61s));
}

TEST_CASE("what is denied after the start does not hide that the driver was not loaded, and is not tried again") {
  reset({Reason::kernel, ENOENT}, false);
  JobCountersOnDemand counters(false, &open);
  CHECK_FALSE(counters.get(JobDriver::drm_sched, 0s));
  refusal = {Reason::permission, EPERM};
  CHECK(counters.get(JobDriver::drm_sched, 2min).absent() == Absent{Reason::kernel, ENOENT});
  CHECK(counters.get(JobDriver::drm_sched, 1h).absent() == Absent{Reason::kernel, ENOENT});
  CHECK(opened == 2);
}

TEST_CASE("a denial is final: no second attempt") {
  reset({Reason::permission, EPERM}, false);
  JobCountersOnDemand counters(false, &open);
  CHECK(counters.get(JobDriver::drm_sched, 0s).absent().reason == Reason::permission);
  CHECK(counters.get(JobDriver::drm_sched, 1h).absent().reason == Reason::permission);
  CHECK(opened == 1);
}

TEST_SUITE_END();
