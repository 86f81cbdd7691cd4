// SPDX-License-Identifier: Apache-2.0
// A collector's metric is named where it is declared, in the table of fields, and in that of OpenTelemetry's names.
// Everything else reads the model.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <string>

#include "igpu/monitor.h"
#include "support/paths.h"

namespace fs = std::filesystem;

TEST_SUITE_BEGIN("metric_names");

TEST_CASE("no view names a metric of a collector") {
  std::set<std::string, std::less<>> metrics;
  for (const igpu::CollectorDescription& collector : igpu::describe_collectors())
    for (const igpu::MetricDescriptor* metric : collector.metrics) metrics.emplace(metric->name);
  REQUIRE(metrics.size() > 50);
  static const std::regex quoted(R"re("(intel_gpu_\w+)")re");
  std::size_t seen = 0;
  for (const char* const room : {"collectors", "exporter"}) {
    for (const fs::directory_entry& entry :
         fs::recursive_directory_iterator(fs::path(igpu::test::source_folder()) / room)) {
      const std::string name = fs::relative(entry.path(), igpu::test::source_folder()).string();
      if (!entry.is_regular_file() || name.starts_with("collectors/collector/")) continue;
      if (!name.ends_with(".cpp") && !name.ends_with(".h") && !name.ends_with(".py")) continue;
      ++seen;
      std::ifstream file(entry.path());
      for (std::string line; std::getline(file, line);) {
        line.resize(std::min(line.find("//"), line.size()));
        for (std::sregex_iterator at(line.begin(), line.end(), quoted); at != std::sregex_iterator(); ++at) {
          INFO(name << ": " << at->str(1));
          const bool table = name == "collectors/model/fields.cpp" || name == "exporter/push/conventions.cpp";
          CHECK((table || !metrics.contains(at->str(1))));
        }
      }
    }
  }
  CHECK(seen > 300);
}

TEST_SUITE_END();
