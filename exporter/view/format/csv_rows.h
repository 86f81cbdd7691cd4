// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <set>
#include <string>
#include <vector>

#include "view/format/gauge_columns.h"

namespace igpu::exporter {

// 2026-11-22T04:37:56.123Z
std::string time_text(std::chrono::system_clock::time_point time);
// A value as RFC 4180 writes it: in quotes if necessary.
void append_csv_cell(std::string& out, std::string_view text);

// Readings as CSV (RFC 4180, lines end in \n): a header, then a row for each GPU of each reading. The header is that of
// the first reading that has a GPU; a column that appears later cannot be added and is only counted.
class CsvRows {
 public:
  void write(const PageView& page, std::chrono::system_clock::time_point time, Nanoseconds elapsed, std::string& out);
  std::size_t columns_left_out() const { return left_out_.size(); }

 private:
  GaugeColumns gauges_;
  std::vector<std::string> columns_;
  std::map<std::string, std::size_t, std::less<>> index_;  // position by column
  std::set<std::string, std::less<>> left_out_;
};

}  // namespace igpu::exporter
