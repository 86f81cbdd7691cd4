// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "igpu/level_zero.h"
#include "level_zero/event_rows.h"
#include "level_zero/symbols.h"

// What a Level Zero program did and left behind, as text and as one HTML file without scripts or links.
namespace igpu::exporter {

struct ReportInput {
  std::string title;
  std::vector<LevelZeroProcess> processes;  // from pages; none when only a CSV is known
  Rows rows;                                // none when there was no log
};

// What one program has not destroyed.
bool leaks(const LevelZeroProcess& process);

// A line for each kind, and one for each place that leaks. Names in it, which programs chose, are clean_text().
std::string summary_text(const LevelZeroProcess& process, Symbols& symbols);
std::string report_text(const ReportInput& input, Symbols& symbols);
std::string report_html(const ReportInput& input, Symbols& symbols);

}  // namespace igpu::exporter
