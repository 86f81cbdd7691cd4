// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Charts as SVG elements of one size, to be placed in a grid. Pure.
namespace igpu::exporter {

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

}  // namespace igpu::exporter
