// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "igpu/page.h"
#include "igpu/units.h"

namespace igpu::exporter {

// The values of GPUs as columns, for `stats --format csv` and its summary: every gauge of a GPU itself, the busy ratio
// of each engine class whatever its source is, and the rates of counters that have no gauge beside them. Processes and
// workloads come and go, so they have no columns.

class GaugeColumns {
 public:
  // Columns look like intel_gpu_engine_busy_ratio{gt=0 engine=rcs0 class=render source=pmu}.
  using Use = std::function<void(std::string_view device, const std::string& column, double value)>;

  // elapsed: the time since the previous page; for the first page, since the start of the monitor, when the counters
  // were 0.
  void each(const PageView& page, Nanoseconds elapsed, const Use& use);

 private:
  std::map<std::string, double, std::less<>> counts_;  // of the previous page, by device and column
};

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
