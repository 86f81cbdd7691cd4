// SPDX-License-Identifier: Apache-2.0
// A collector's metric is named where it is declared, in the table of fields, and in that of OpenTelemetry's names.
// Everything else reads the model, also the page's script.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "igpu/monitor.h"
#include "support/paths.h"

namespace fs = std::filesystem;

namespace {

using Names = std::set<std::string, std::less<>>;

Names collector_metrics() {
  Names names;
  for (const igpu::CollectorDescription& collector : igpu::describe_collectors())
    for (const igpu::MetricDescriptor* metric : collector.metrics) names.emplace(metric->name);
  return names;
}

// Names of metrics in the string literals of a line, also within longer text.
std::vector<std::string> names_in_literals(std::string line) {
  static const std::regex name(R"re(intel_[gn]pu_\w+)re");
  std::vector<std::string> found;
  line.resize(std::min(line.find("//"), line.size()));
  for (std::size_t begin = line.find('"'); begin != line.npos;) {
    const std::size_t end = std::min(line.find('"', begin + 1), line.size());
    const std::string literal = line.substr(begin, end - begin);
    for (std::sregex_iterator at(literal.begin(), literal.end(), name); at != std::sregex_iterator(); ++at)
      found.push_back(at->str());
    begin = end == line.size() ? line.npos : line.find('"', end + 1);
  }
  return found;
}

}  // namespace

TEST_SUITE_BEGIN("metric_names");

TEST_CASE("no view names a metric of a collector") {
  CHECK(names_in_literals(R"(put("a", "x{intel_npu_busy_ratio}"); // "intel_gpu_info")") ==
        std::vector<std::string>{"intel_npu_busy_ratio"});
  const Names metrics = collector_metrics();
  REQUIRE(metrics.size() > 50);
  std::size_t seen = 0;
  for (const char* const room : {"collectors", "exporter"}) {
    for (const fs::directory_entry& entry :
         fs::recursive_directory_iterator(fs::path(igpu::test::source_folder()) / room)) {
      const std::string name = fs::relative(entry.path(), igpu::test::source_folder()).string();
      if (!entry.is_regular_file() || name.starts_with("collectors/collector/")) continue;
      if (name == "collectors/model/fields.cpp" || name == "exporter/server/push/otlp_encoder.cpp") continue;
      const bool is_script = name.ends_with(".js");  // of which a name in any place counts
      if (!is_script && !name.ends_with(".cpp") && !name.ends_with(".h") && !name.ends_with(".c") &&
          !name.ends_with(".py"))
        continue;
      ++seen;
      std::ifstream file(entry.path());
      for (std::string line; std::getline(file, line);) {
        CHECK_FALSE((is_script && std::regex_search(line, std::regex("intel_[gn]pu"))));
        for (const std::string& metric : names_in_literals(line)) {
          INFO(name << ": " << metric);
          CHECK_FALSE(metrics.contains(metric));
        }
      }
    }
  }
  CHECK(seen > 300);
}

TEST_SUITE_END();
