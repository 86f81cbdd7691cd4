// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstdint>

#include "igpu/collectable.h"

TEST_SUITE_BEGIN("prometheus_families");

using namespace igpu;

namespace {

constexpr Metric<Joules, 2> kEnergy{"test_energy_joules_total", Kind::counter, "Energy.", {"device", "domain"}};
constexpr Metric<Count, 1> kInfo{"test_info", Kind::info, "Info.", {"name"}};

}  // namespace

TEST_CASE("a page becomes prometheus-cpp's families: names whole, empty labels left out, info as gauge") {
  SampleList list;
  const std::string_view energy[] = {"0000:03:00.0", ""};
  const std::string_view info[] = {"Arc"};
  list.add(kEnergy, energy, 12.5);
  list.add(kInfo, info, 1);
  const SampleList* lists[] = {&list};
  const auto families = to_prometheus_families(PageView(lists));

  REQUIRE(families.size() == 2);
  CHECK(families[0].name == "test_energy_joules_total");
  CHECK(families[0].help == "Energy.");
  CHECK(families[0].type == prometheus::MetricType::Counter);
  REQUIRE(families[0].metric.size() == 1);
  CHECK(families[0].metric[0].counter.value == 12.5);
  REQUIRE(families[0].metric[0].label.size() == 1);
  CHECK(families[0].metric[0].label[0].name == "device");
  CHECK(families[0].metric[0].label[0].value == "0000:03:00.0");
  CHECK(families[1].name == "test_info");
  CHECK(families[1].type == prometheus::MetricType::Gauge);
  CHECK(families[1].metric[0].gauge.value == 1);
}

TEST_CASE("a histogram becomes prometheus-cpp's, with cumulative counts up to infinity") {
  static constexpr std::array kBounds{0.1, 1.0};
  static constexpr HistogramMetric<Seconds, 1, 2> kWait{"test_wait_seconds", "Wait.", {"device"}, kBounds};
  SampleList list;
  const std::string_view device[] = {"0000:03:00.0"};
  const std::uint64_t counts[] = {1, 2, 3};
  list.add(kWait, device, counts, 12.5);
  const SampleList* lists[] = {&list};
  const auto families = to_prometheus_families(PageView(lists));
  REQUIRE(families.size() == 1);
  CHECK(families[0].type == prometheus::MetricType::Histogram);
  const auto& histogram = families[0].metric[0].histogram;
  CHECK(histogram.sample_count == 6);
  CHECK(histogram.sample_sum == 12.5);
  REQUIRE(histogram.bucket.size() == 3);
  CHECK(histogram.bucket[0].cumulative_count == 1);
  CHECK(histogram.bucket[0].upper_bound == 0.1);
  CHECK(histogram.bucket[1].cumulative_count == 3);
  CHECK(histogram.bucket[2].cumulative_count == 6);
  CHECK(histogram.bucket[2].upper_bound == HUGE_VAL);
}

TEST_SUITE_END();
