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

std::int32_t bucket_of(double magnitude) {
  return static_cast<std::int32_t>(std::floor(std::log(magnitude) / std::log(kBucketWidth)));
}
// The middle of a bucket.
double magnitude_of(std::int32_t bucket) { return std::pow(kBucketWidth, bucket + 0.5); }

}  // namespace

void Distribution::add(double value) {
  if (!std::isfinite(value)) return;
  if (count_++ == 0) minimum_ = maximum_ = value;
  minimum_ = std::min(minimum_, value);
  maximum_ = std::max(maximum_, value);
  sum_ += value;
  if (value > 0) {
    ++positive_[bucket_of(value)];
  } else if (value < 0) {
    ++negative_[bucket_of(-value)];
  } else {
    ++zeros_;
  }
}

double Distribution::percentile(double share) const {
  if (count_ == 0) return 0;
  // Nearest rank: the smallest value that at least this share of all values does not exceed.
  auto left = static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(count_)));
  const auto within = [this](double value) { return std::clamp(value, minimum_, maximum_); };
  for (auto bucket = negative_.rbegin(); bucket != negative_.rend(); ++bucket) {
    if (left <= bucket->second) return within(-magnitude_of(bucket->first));
    left -= bucket->second;
  }
  if (left <= zeros_) return within(0);
  left -= zeros_;
  for (const auto& [bucket, values] : positive_) {
    if (left <= values) return within(magnitude_of(bucket));
    left -= values;
  }
  return maximum_;
}

void StatsSummary::add(std::string_view device, const std::string& column, double value) {
  auto known = devices_.find(device);
  if (known == devices_.end()) known = devices_.emplace(device, Device()).first;
  Device& here = known->second;
  const auto [at, added] = here.index.emplace(column, here.columns.size());
  if (added) here.columns.emplace_back(column, Distribution());
  here.columns[at->second].second.add(value);
}

std::string StatsSummary::text() const {
  std::string out;
  char line[128];
  for (const auto& [device, table] : devices_) {
    if (!out.empty()) out += '\n';
    std::snprintf(line, sizeof line, "%11s %11s %11s %11s  ", "min", "mean", "max", "p95");
    out += line + clean_text(device) + '\n';
    for (const auto& [column, values] : table.columns) {
      std::snprintf(line, sizeof line, "%11.5g %11.5g %11.5g %11.5g  ", values.minimum(), values.mean(),
                    values.maximum(), values.percentile(0.95));
      out += line + clean_text(column) + '\n';
    }
  }
  return out;
}

}  // namespace igpu::exporter
