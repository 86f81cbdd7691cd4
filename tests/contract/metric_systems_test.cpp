// SPDX-License-Identifier: Apache-2.0
// What METRICS.md says that Windows gives is what the expected pages of Windows hold, and no more.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "igpu/monitor.h"
#include "support/paths.h"

using namespace igpu;

namespace {

// Of the lines "NAME{..." and "NAME ..." of all text files below the folder.
std::set<std::string, std::less<>> names_in(const std::string& folder) {
  std::set<std::string, std::less<>> names;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(test::source_folder() + "/" + folder)) {
    if (entry.path().extension() != ".txt") continue;
    std::ifstream file(entry.path());
    for (std::string line; std::getline(file, line);) names.insert(line.substr(0, line.find_first_of("{ ")));
  }
  return names;
}

bool contains(std::span<const MetricDescriptor* const> metrics, const MetricDescriptor* metric) {
  return std::find(metrics.begin(), metrics.end(), metric) != metrics.end();
}

}  // namespace

TEST_SUITE_BEGIN("metric_systems");

TEST_CASE("a collector's metrics that Windows gives are those of the pages of Windows") {
  const auto windows = names_in("tests/windows/golden");
  REQUIRE(windows.size() > 10);
  for (const CollectorDescription& collector : describe_collectors()) {
    for (const MetricDescriptor* metric : collector.metrics) {
      CAPTURE(std::string(metric->name));
      CHECK(contains(collector.in_windows, metric) == windows.contains(metric->name));
    }
    for (const MetricDescriptor* metric : collector.not_in_linux) CHECK(contains(collector.in_windows, metric));
  }
}

TEST_CASE("a metric that Linux does not give is on none of its pages") {
  const auto linux_pages = names_in("tests/golden");
  REQUIRE(linux_pages.size() > 50);
  for (const CollectorDescription& collector : describe_collectors())
    for (const MetricDescriptor* metric : collector.not_in_linux) CHECK_FALSE(linux_pages.contains(metric->name));
}

TEST_SUITE_END();
