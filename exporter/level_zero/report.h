// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "igpu/level_zero.h"
#include "level_zero/event_rows.h"

namespace igpu::exporter {

// Charts as SVG elements of one size, to be placed in a grid. Pure.

struct Curve {
  std::string name;
  std::vector<std::pair<double, double>> points;  // x never goes back
};

struct ChartTitle {
  std::string_view title, x, y;
};

inline constexpr double kChartWidth = 560, kChartHeight = 300;

std::string short_number(double value);
// Some four to seven multiples of 1, 2 or 5 times a power of ten from low to high, for an axis that contains 0.
std::vector<double> round_values(double low, double high);

// However many points there are, no more than a few for each column of pixels are drawn: its lowest and highest.
std::string line_chart(const ChartTitle& title, const std::vector<Curve>& curves);
std::string bar_chart(const ChartTitle& title, const std::vector<std::pair<std::string, double>>& bars,
                      std::string_view when_empty);

// Names of code addresses: "function+0x12 (libfoo.so)", with " at file.c:34" where debug information is installed.
// Uses elfutils' libdw if this machine has it; without it the library and the offset are all that is known.
class Symbols {
 public:
  Symbols();
  ~Symbols();

  std::string describe(const LevelZeroFrame& frame);

 private:
  class Library;
  struct Dwarf;
  Library& library(const std::string& path);

  std::unique_ptr<Dwarf> dwarf_;
  std::map<std::string, std::unique_ptr<Library>> libraries_;
};

// What a Level Zero program did and left behind, as text and as one HTML file without scripts or links.

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
