// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace igpu::exporter {

// Minimum, mean, maximum and 95th percentile of many values in little memory, however many there are: minimum, mean and
// maximum are exact, the percentile is within 0.5 % of a value that occurred.
class Distribution {
 public:
  void add(double value);
  double minimum() const { return minimum_; }
  double maximum() const { return maximum_; }
  double mean() const { return count_ > 0 ? sum_ / static_cast<double>(count_) : 0; }
  double percentile(double share) const;  // share: 0.95
  std::uint64_t count() const { return count_; }

 private:
  std::map<double, std::uint64_t> buckets_;  // counts of values, by the middle of their bucket
  std::uint64_t count_ = 0;
  double minimum_ = 0, maximum_ = 0, sum_ = 0;
};

// The values of a stream of readings by GPU and column.
class StatsSummary {
 public:
  void add(std::string_view device, const std::string& column, double value);
  // A table for each GPU; "" without values.
  std::string text() const;

 private:
  using Columns = std::vector<std::pair<std::string, Distribution>>;  // in order of first appearance
  std::map<std::string, Columns, std::less<>> devices_;
};

}  // namespace igpu::exporter
