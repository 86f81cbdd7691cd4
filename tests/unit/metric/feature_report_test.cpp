// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cerrno>

#include "metric/sample_sink.h"

TEST_SUITE_BEGIN("feature_report");

using namespace igpu;

namespace {

constexpr FeatureDescriptor kFeature{"thing", "A thing."};
const Failure kFailure{std::error_code(EIO, std::generic_category()), "file"};

}  // namespace

TEST_CASE("one value makes a feature available; failures are reported in any case") {
  SampleSink sink;
  {
    FeatureReport report(sink, kFeature);
    CHECK_FALSE(report.note(Reading<int>(Absent{Reason::kernel})));
    CHECK_FALSE(report.note(Reading<int>(kFailure)));
    CHECK(report.note(Reading<int>(5)));
  }
  REQUIRE(sink.features().size() == 1);
  CHECK(sink.features()[0].available);
  CHECK(sink.failures().size() == 1);
}

TEST_CASE("without a value the first refusal that has a fix is the reason") {
  SampleSink sink;
  {
    FeatureReport report(sink, kFeature);
    (void)report.note(Reading<int>(Absent{Reason::kernel, ENOENT}));
    (void)report.note(Reading<int>(Absent{Reason::permission, EPERM}));
    (void)report.note(Reading<int>(Absent{Reason::permission, EACCES}));
  }
  REQUIRE(sink.features().size() == 1);
  CHECK_FALSE(sink.features()[0].available);
  CHECK(sink.features()[0].absent == Absent{Reason::permission, EPERM});
}

TEST_CASE("where nothing could be read, the caller's reason is used") {
  SampleSink sink;
  { FeatureReport report(sink, kFeature, {Reason::suspended}); }
  REQUIRE(sink.features().size() == 1);
  CHECK(sink.features()[0].absent.reason == Reason::suspended);
}

TEST_CASE("after only a failure the feature is not reported") {
  SampleSink sink;
  {
    FeatureReport report(sink, kFeature);
    (void)report.note(Reading<int>(kFailure));
  }
  CHECK(sink.features().empty());
  CHECK(sink.failures().size() == 1);
}

TEST_SUITE_END();
