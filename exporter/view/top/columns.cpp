// SPDX-License-Identifier: Apache-2.0
#include "view/top/columns.h"

#include <cstddef>

namespace igpu::exporter::top {

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
