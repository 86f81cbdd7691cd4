// SPDX-License-Identifier: Apache-2.0
#include "level_zero/statistics.h"

#include <algorithm>

namespace igpu::exporter {
namespace {

constexpr std::int64_t kGrowthOfLeak = 100;  // kB; the known tool's plots use the same

bool destroys(std::string_view function) {
  return function.find("Destroy") != std::string_view::npos || function.find("Free") != std::string_view::npos;
}

}  // namespace

Statistics statistics_of(const Rows& rows) {
  Statistics statistics;
  for (const std::string& function : rows.functions) statistics.functions.push_back({function});
  for (const Row& row : rows.rows) {
    FunctionUse& use = statistics.functions[row.function];
    ++use.calls;
    use.megabytes += static_cast<double>(row.resident_change) / 1024;
    statistics.seconds = std::max(statistics.seconds, row.milliseconds / 1000);
    statistics.peak_resident = std::max(statistics.peak_resident, row.resident);
    statistics.peak_total_bytes = std::max(statistics.peak_total_bytes, row.total_bytes);
    if (row.resident_change > kGrowthOfLeak && destroys(use.function))
      statistics.growth.push_back(
          {row.milliseconds / 1000, use.function, static_cast<double>(row.resident_change) / 1024});
  }
  return statistics;
}

std::vector<std::pair<std::string, double>> top(const Statistics& statistics, std::size_t most,
                                                double (*of)(const FunctionUse&)) {
  std::vector<std::pair<std::string, double>> values;
  for (const FunctionUse& use : statistics.functions)
    if (of(use) != 0) values.emplace_back(use.function, of(use));
  std::stable_sort(values.begin(), values.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  if (values.size() > most) values.resize(most);
  return values;
}

}  // namespace igpu::exporter
