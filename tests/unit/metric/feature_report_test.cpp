// SPDX-License-Identifier: Apache-2.0
#include "metric/feature_report.h"

#include <doctest/doctest.h>

#include <cerrno>

TEST_SUITE_BEGIN("feature_report");

using namespace igpu;

namespace {

constexpr FeatureDescriptor kFeature{"thing", "A thing."};
const Failure kFailure{std::error_code(EIO, std::generic_category()), "file"};

}  // namespace

TEST_CASE("one value makes a feature available, whatever else came; failures are told in any case") {
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

TEST_CASE("without a value the refusal that can be cured is the reason, the first one of several") {
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

TEST_CASE("where nothing was there to be read, the caller knows why") {
  SampleSink sink;
  { FeatureReport report(sink, kFeature, {Reason::suspended}); }
  REQUIRE(sink.features().size() == 1);
  CHECK(sink.features()[0].absent.reason == Reason::suspended);
}

TEST_CASE("after a mere failure nothing is said about the feature") {
  SampleSink sink;
  {
    FeatureReport report(sink, kFeature);
    (void)report.note(Reading<int>(kFailure));
  }
  CHECK(sink.features().empty());
  CHECK(sink.failures().size() == 1);
}

TEST_SUITE_END();
