// SPDX-License-Identifier: Apache-2.0
#include "metric/sample_sink.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

TEST_SUITE_BEGIN("sample_sink");

using namespace igpu;

namespace {

constexpr Metric<Ratio, 1> kLoad{"test_load_ratio", Kind::gauge, "Load.", {"device"}};
constexpr std::array kBounds{0.1, 1.0};
constexpr HistogramMetric<Seconds, 1, 2> kWait{"test_wait_seconds", "Wait.", {"device"}, kBounds};
constexpr FeatureDescriptor kFeature{"load", "The load."};

}  // namespace

TEST_CASE("samples, features and failures are kept apart") {
  SampleSink sink;
  sink.add(kLoad, {"0000:00:02.0"}, Ratio{0.5});
  sink.available(kFeature);
  sink.missing(kFeature, Reading<int>(Absent{Reason::permission, 13}));
  sink.missing(kFeature, Reading<int>(Failure{std::make_error_code(std::errc::io_error), "sys/x"}));
  CHECK(sink.samples().samples().size() == 1);
  REQUIRE(sink.features().size() == 2);
  CHECK(sink.features()[0].available);
  CHECK(sink.features()[1].absent.reason == Reason::permission);
  REQUIRE(sink.failures().size() == 1);
  CHECK(sink.failures()[0].where == "sys/x");
  sink.clear();
  CHECK(sink.samples().samples().empty());
  CHECK(sink.features().empty());
  CHECK(sink.failures().empty());
}

TEST_CASE("NaN never reaches the page: it is a failure of its metric") {
  SampleSink sink;
  sink.add(kLoad, {"a"}, Ratio{std::nan("")});
  sink.add(kLoad, {"a"}, Ratio{std::numeric_limits<double>::infinity()});
  sink.add(kLoad, {"a"}, Ratio{-std::numeric_limits<double>::infinity()});
  CHECK(sink.samples().samples().empty());
  REQUIRE(sink.failures().size() == 3);
  CHECK(sink.failures()[0].where == "test_load_ratio");
}

TEST_CASE("a histogram keeps its counts; one whose sum is not finite is a failure") {
  SampleSink sink;
  const std::array<std::uint64_t, 3> first{1, 2, 3}, second{4, 5, 6};
  sink.add(kWait, {"a"}, {first, Seconds{1.5}});
  sink.add(kLoad, {"a"}, Ratio{0.5});
  sink.add(kWait, {"b"}, {second, Seconds{2.5}});
  sink.add(kWait, {"c"}, {second, Seconds{std::nan("")}});
  const auto samples = sink.samples().samples();
  REQUIRE(samples.size() == 3);
  CHECK(std::ranges::equal(sink.samples().bucket_counts(samples[0]), first));
  CHECK(std::ranges::equal(sink.samples().bucket_counts(samples[2]), second));
  CHECK(sink.samples().label_value(samples[2], 0) == "b");
  CHECK(samples[2].value == 2.5);
  REQUIRE(sink.failures().size() == 1);
  CHECK(sink.failures()[0].where == "test_wait_seconds");
  sink.clear();
  sink.add(kWait, {"d"}, {second, Seconds{1}});
  CHECK(std::ranges::equal(sink.samples().bucket_counts(sink.samples().samples()[0]), second));
}

TEST_SUITE_END();
