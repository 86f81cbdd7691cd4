// SPDX-License-Identifier: Apache-2.0
#include "view/top/format.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "text/formatted.h"

namespace igpu::exporter::top {

namespace {

constexpr double kHuge = 99'999'999;

std::string printed(double value, int decimals) {
  return formatted("%.*f", decimals, std::clamp(value, -kHuge, kHuge));
}

}  // namespace

std::string percent_cell(std::optional<double> ratio) {
  if (!ratio) return "-";
  const double value = std::clamp(*ratio, 0.0, 99.99) * 100;
  return printed(value, value < 99.95 ? 1 : 0);
}

std::string percent(std::optional<double> ratio) { return ratio ? percent_cell(ratio) + "%" : "-"; }

std::string short_bytes(std::optional<double> bytes) {
  if (!bytes) return "-";
  constexpr std::array<const char*, 6> kUnits{"B", "K", "M", "G", "T", "P"};
  double value = std::max(*bytes, 0.0);
  std::size_t unit = 0;
  while (value >= 999.5 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  if (value >= 999.5) return ">999P";
  return printed(value, unit >= 2 && value < 9.95 ? 1 : unit >= 3 && value < 99.95 ? 1 : 0) + kUnits[unit];
}

std::string tenths(double value) { return printed(value, std::abs(value) < 999.95 ? 1 : 0); }

std::string whole(double value) { return printed(value + 0.0, 0); }

std::vector<bool> fitting_columns(std::span<const ColumnSpace> columns, int room) {
  std::vector<bool> shown(columns.size(), true);
  int wanted = 0;
  for (const ColumnSpace& column : columns) wanted += column.width;
  while (wanted > room) {
    std::size_t least = columns.size();
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (!shown[i] || columns[i].rank == 0) continue;
      if (least == columns.size() || columns[i].rank > columns[least].rank) least = i;
    }
    if (least == columns.size()) break;
    shown[least] = false;
    wanted -= columns[least].width;
  }
  return shown;
}

}  // namespace igpu::exporter::top
