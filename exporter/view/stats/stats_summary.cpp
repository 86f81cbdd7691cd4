// SPDX-License-Identifier: Apache-2.0
#include "view/stats/stats_summary.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "cli/output.h"
#include "text/unicode.h"

namespace igpu::exporter {
namespace {

constexpr double kBucketWidth = 1.01;

// Values of one sign are told apart by the integer part of their logarithm, so a bucket's width is 1 % of its values.
double middle_of_bucket(double value) {
  if (value == 0) return 0;
  const double bucket = std::floor(std::log(std::abs(value)) / std::log(kBucketWidth));
  return std::copysign(std::pow(kBucketWidth, bucket + 0.5), value);
}

}  // namespace

void Distribution::add(double value) {
  if (!std::isfinite(value)) return;
  if (count_++ == 0) minimum_ = maximum_ = value;
  minimum_ = std::min(minimum_, value);
  maximum_ = std::max(maximum_, value);
  sum_ += value;
  ++buckets_[middle_of_bucket(value)];
}

double Distribution::percentile(double share) const {
  if (count_ == 0) return 0;
  // Nearest rank: the smallest value that at least this share of all values does not exceed.
  auto left = static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(count_)));
  for (const auto& [middle, values] : buckets_) {
    if (left <= values) return std::clamp(middle, minimum_, maximum_);
    left -= values;
  }
  return maximum_;
}

void StatsSummary::add(std::string_view device, const std::string& column, double value) {
  auto known = devices_.find(device);
  if (known == devices_.end()) known = devices_.emplace(device, Columns()).first;
  Columns& columns = known->second;
  auto known_column = std::ranges::find(columns, column, &Columns::value_type::first);
  if (known_column == columns.end()) known_column = columns.insert(columns.end(), {column, Distribution()});
  known_column->second.add(value);
}

std::string StatsSummary::text() const {
  std::string out;
  char line[128];
  for (const auto& [device, columns] : devices_) {
    if (!out.empty()) out += '\n';
    std::snprintf(line, sizeof line, "%11s %11s %11s %11s  ", "min", "mean", "max", "p95");
    out += line + clean_text(device) + '\n';
    for (const auto& [column, values] : columns) {
      std::snprintf(line, sizeof line, "%11.5g %11.5g %11.5g %11.5g  ", values.minimum(), values.mean(),
                    values.maximum(), values.percentile(0.95));
      out += line + clean_text(column) + '\n';
    }
  }
  return out;
}

}  // namespace igpu::exporter
