// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

// Short texts for values; no number that a page may hold makes them long. A missing value is "-".
namespace igpu::exporter::top {

std::string percent(std::optional<double> ratio);       // "34.5%", "100%"
std::string percent_cell(std::optional<double> ratio);  // "34.5", "100"; up to "9999"
std::string short_bytes(std::optional<double> bytes);   // "380M", "5.3G"
std::string tenths(double value);                       // "178.3", "1240"
std::string whole(double value);                        // "1950"

struct ColumnSpace {
  int width = 0;  // including the gap beside the column
  int rank = 0;   // the column with the highest rank is dropped first; 0: never dropped
};

// Which columns are shown in a line of `room` cells. A column that does not fit is dropped as a whole, because part of
// a number is a wrong number.
std::vector<bool> fitting_columns(std::span<const ColumnSpace> columns, int room);

}  // namespace igpu::exporter::top
