// SPDX-License-Identifier: Apache-2.0
#include "trace/job_counts.h"

#include <doctest/doctest.h>

#include "support/fake_job_counters.h"

TEST_SUITE_BEGIN("job_counts");

using namespace igpu;
using namespace igpu::test;

TEST_CASE("groups of one device are read in the order of their classes, those of other devices are not") {
  FakeJobCounters counters;
  std::uint64_t* const video = counters.add_group("0000:03:00.0", JOB_SOURCE_DRM_SCHED, JOB_CLASS_VIDEO);
  video[JOB_OUTCOME + JOB_COMPLETED] = 7;
  video[JOB_OUTCOME + JOB_EVICTED] = 1;
  video[JOB_QUEUE] = 4;
  video[JOB_QUEUE + JOB_BUCKETS - 1] = 3;
  video[JOB_QUEUE_NS] = 1'500'000'000;
  video[JOB_RUN + 2] = 7;
  video[JOB_RUN_NS] = 250'000'000;
  counters.add_group("0000:03:00.1", JOB_SOURCE_DRM_SCHED, JOB_CLASS_COPY);
  counters.add_group("0000:03:00.0", JOB_SOURCE_I915, JOB_CLASS_RENDER)[JOB_OUTCOME + JOB_BOUND] = 9;

  const auto found = read_job_counts(counters.slots(), "0000:03:00.0");
  REQUIRE(found.size() == 2);
  CHECK(found[0].engine_class == JobClass::render);
  CHECK(found[0].source == JobSource::i915);
  CHECK(found[0].outcomes[JOB_BOUND] == 9);
  CHECK(found[1].engine_class == JobClass::video);
  CHECK(found[1].source == JobSource::drm_sched);
  CHECK(found[1].outcomes[JOB_COMPLETED] == 7);
  CHECK(found[1].outcomes[JOB_EVICTED] == 1);
  CHECK(found[1].queue[0] == 4);
  CHECK(found[1].queue[kJobBuckets - 1] == 3);
  CHECK(found[1].run[2] == 7);
  CHECK(found[1].queue_seconds == doctest::Approx(1.5));
  CHECK(found[1].run_seconds == doctest::Approx(0.25));
}

TEST_CASE("a group that is not written completely, or has a number that another one uses, is skipped") {
  FakeJobCounters counters;
  counters.add_group("0000:03:00.0", JOB_SOURCE_DRM_SCHED, JOB_CLASS_VIDEO)[JOB_KIND] = 0;
  CHECK(read_job_counts(counters.slots(), "0000:03:00.0").empty());
}

TEST_CASE("a name that fills its two slots is read to its end and no further") {
  FakeJobCounters counters;
  counters.add_group("10000:e1:00.0", JOB_SOURCE_DRM_SCHED, JOB_CLASS_OTHER);
  counters.add_group("0123456789abcdef", JOB_SOURCE_DRM_SCHED, JOB_CLASS_OTHER);
  CHECK(read_job_counts(counters.slots(), "10000:e1:00.0").size() == 1);
  CHECK(read_job_counts(counters.slots(), "0123456789abcdef").size() == 1);
  CHECK(read_job_counts(counters.slots(), "10000:e1:00").empty());
}

TEST_CASE("an unknown class is other") {
  FakeJobCounters counters;
  counters.add_group("a", JOB_SOURCE_DRM_SCHED, 200);
  REQUIRE(read_job_counts(counters.slots(), "a").size() == 1);
  CHECK(read_job_counts(counters.slots(), "a")[0].engine_class == JobClass::other);
}

TEST_CASE("lost events are those of group 0") {
  FakeJobCounters counters;
  counters.slot(JOB_LOST_UNMATCHED) = 3;
  counters.slot(JOB_LOST_TABLE_FULL) = 2;
  CHECK(read_lost_job_events(counters.slots()).unmatched == 3);
  CHECK(read_lost_job_events(counters.slots()).table_full == 2);
}

TEST_SUITE_END();
