// SPDX-License-Identifier: Apache-2.0
#include "igpu/page.h"

#include <doctest/doctest.h>

#include <deque>
#include <string>
#include <vector>

TEST_SUITE_BEGIN("page");

using namespace igpu;

namespace {

constexpr Metric<Seconds, 2> kBusy{"test_busy_seconds_total", Kind::counter, "Busy.", {"device", "engine"}};
constexpr Metric<Ratio, 1> kLoad{"test_load_ratio", Kind::gauge, "Load.", {"device"}};
constexpr Metric<Count, 0> kDevices{"test_devices", Kind::gauge, "Devices."};

void add(SampleList& list, const MetricDescriptor& metric, std::initializer_list<std::string_view> labels,
         double value) {
  list.add(metric, std::span(labels.begin(), labels.size()), value);
}

}  // namespace

TEST_CASE("a list returns what was added, in order") {
  SampleList list;
  add(list, kBusy, {"0000:00:02.0", "rcs0"}, 1.5);
  add(list, kDevices, {}, 1);
  add(list, kBusy, {"", "vcs0"}, 2);
  REQUIRE(list.samples().size() == 3);
  CHECK(list.samples()[0].metric == &kBusy);
  CHECK(list.label_value(list.samples()[0], 0) == "0000:00:02.0");
  CHECK(list.label_value(list.samples()[0], 1) == "rcs0");
  CHECK(list.samples()[1].value == 1);
  CHECK(list.label_value(list.samples()[2], 0).empty());
  CHECK(list.label_value(list.samples()[2], 1) == "vcs0");
  list.clear();
  CHECK(list.samples().empty());
  add(list, kLoad, {"x"}, 0.5);
  CHECK(list.label_value(list.samples()[0], 0) == "x");
}

TEST_CASE("label values are repaired when they are added") {
  SampleList list;
  const std::string_view hostile("evil\0\xff", 6);
  add(list, kLoad, {hostile}, 1);
  CHECK(list.label_value(list.samples()[0], 0) == "evil\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST_CASE("label values that samples have in common are kept for each of them") {
  SampleList list;
  const std::string_view hostile("evil\0\xff", 6), repaired = "evil\xEF\xBF\xBD\xEF\xBF\xBD";
  add(list, kBusy, {"0000:00:02.0", "rcs0"}, 1);
  add(list, kLoad, {"0000:00:02.0"}, 2);
  add(list, kBusy, {"0000:00:02.0", hostile}, 3);
  add(list, kBusy, {"0000:00:02.0", hostile}, 4);
  add(list, kBusy, {"0000:00:02.0", repaired}, 5);
  add(list, kDevices, {}, 6);
  add(list, kBusy, {"", repaired}, 7);
  const auto samples = list.samples();
  for (const std::size_t i : {0U, 1U, 2U, 3U, 4U}) CHECK(list.label_value(samples[i], 0) == "0000:00:02.0");
  CHECK(list.label_value(samples[0], 1) == "rcs0");
  for (const std::size_t i : {2U, 3U, 4U, 6U}) CHECK(list.label_value(samples[i], 1) == repaired);
  CHECK(list.label_value(samples[6], 0).empty());
}

TEST_CASE("a page holds each family once, in the order of first appearance, samples in the order of the lists") {
  SampleList first, empty, second;
  add(first, kBusy, {"a", "rcs0"}, 1);
  add(first, kLoad, {"a"}, 0.1);
  add(first, kBusy, {"a", "vcs0"}, 2);
  add(second, kLoad, {"b"}, 0.2);
  add(second, kDevices, {}, 2);
  add(second, kBusy, {"b", "rcs0"}, 3);
  const SampleList* lists[] = {&first, &empty, &second};
  const PageView page(lists);

  REQUIRE(page.families().size() == 3);
  CHECK(page.families()[0].metric == &kBusy);
  CHECK(page.families()[1].metric == &kLoad);
  CHECK(page.families()[2].metric == &kDevices);
  std::vector<double> busy;
  for (const auto& entry : page.families()[0].entries) busy.push_back(entry.sample->value);
  CHECK(busy == std::vector<double>{1, 2, 3});
  CHECK(page.families()[0].entries[2].list->label_value(*page.families()[0].entries[2].sample, 0) == "b");
}

TEST_CASE("an empty page has no families") {
  CHECK(PageView({}).families().empty());
  SampleList empty;
  const SampleList* lists[] = {&empty};
  CHECK(PageView(lists).families().empty());
}

TEST_CASE("more families than the initial table holds are kept apart") {
  std::deque<std::string> names;
  std::deque<MetricDescriptor> metrics;
  SampleList list;
  for (int i = 0; i < 1000; ++i) {
    names.push_back("test_" + std::to_string(i));
    metrics.push_back({names.back(), Kind::gauge, "Help.", "", {}, 0});
  }
  for (int round = 0; round < 3; ++round) {
    for (const MetricDescriptor& metric : metrics) add(list, metric, {}, round);
  }
  const SampleList* lists[] = {&list};
  const PageView page(lists);
  REQUIRE(page.families().size() == 1000);
  for (std::size_t i = 0; i < 1000; ++i) {
    REQUIRE(page.families()[i].metric == &metrics[i]);
    REQUIRE(page.families()[i].entries.size() == 3);
    REQUIRE(page.families()[i].entries[2].sample->value == 2);
  }
}

TEST_SUITE_END();
