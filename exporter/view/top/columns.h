// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

namespace igpu::exporter::top {

struct ColumnSpace {
  int width = 0;  // including the gap beside the column
  int rank = 0;   // the column with the highest rank is dropped first; 0: never dropped
};

// Which columns are shown in a line of `room` cells. A column that does not fit is dropped as a whole, because part of
// a number is a wrong number.
std::vector<bool> fitting_columns(std::span<const ColumnSpace> columns, int room);

}  // namespace igpu::exporter::top
