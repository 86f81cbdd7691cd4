// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "igpu/page.h"
#include "igpu/units.h"

// The values of GPUs as columns, for `stats --format csv` and its summary: every gauge of a GPU itself, the busy ratio
// of each engine class whatever its source is, and the rates of counters that have no gauge beside them. Processes and
// workloads come and go, so they have no columns.
namespace igpu::exporter {

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

}  // namespace igpu::exporter
