// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "igpu/device.h"
#include "igpu/page.h"

// What a person wants to know of a GPU at one glance, in the units that people use: what `stats` and the page at "/"
// show. The values are those of /metrics.
namespace igpu::exporter {

struct SummaryRow {
  std::string name;   // "gt0 vcs0 video"; from labels, so it may hold anything that a driver or process calls itself
  std::string value;  // "  36.8 %"; numbers of a section end at the same column
};
struct SummarySection {
  std::string_view title;  // "engines"
  std::vector<SummaryRow> rows;
};
struct SummaryProcess {
  std::string pid, comm;
  double busy = 0;                   // sum over its engine classes
  std::vector<std::string> classes;  // "video 26.4 %"
  double resident_bytes = 0;
};
struct GpuSummary {
  bool suspended = false;
  std::vector<SummarySection> sections;   // those with rows only
  std::vector<SummaryProcess> processes;  // the busiest first, then the largest
};

GpuSummary summarize(const PageView& page, const Gpu& gpu);

// "380.1 MiB", padded to the left as the values of rows are.
std::string human_bytes(double value);

}  // namespace igpu::exporter
