// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

namespace igpu::exporter::top {

struct ColumnSpace {
  int width = 0;  // with the gap beside it
  int rank = 0;   // the column with the highest rank goes first; 0: stays
};

// Which columns are shown in so much room. A column that does not fit goes as a whole: part of a number is a wrong
// number.
std::vector<bool> fitting_columns(std::span<const ColumnSpace> columns, int room);

}  // namespace igpu::exporter::top
