// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "top/canvas.h"
#include "top/frame.h"
#include "top/screen.h"
#include "top/view_state.h"

namespace igpu::exporter::top {

// One line of the table: a process, a workload, or in the tree a unit or container with the sum of its processes.
struct TableRow {
  std::string key;     // the same in the next frame
  std::string branch;  // of the tree, before the command
  bool is_group = false;
  std::size_t number = 0;  // of the GPU
  bool has_gpu = true;     // a group may use several
  std::string host, pid, user, command, place;
  ClassRatios classes;
  std::optional<double> memory, resident, cpu, clients;
  double busy() const;
};

// Filtered and sorted, in the order of the tree if it is on.
std::vector<TableRow> table_rows(const Frame& frame, const ViewState& view, bool unicode);

std::string_view sort_name(SortKey key);
bool ascending_by_default(SortKey key);

struct TableArea {
  int top = 0, bottom = 0;  // bottom < 0: as many rows as there are
};
// Draws title and rows; fills in the screen's regions and rows.
void draw_table(Screen& screen, const Frame& frame, const ViewState& view, const ScreenContext& context,
                TableArea area);

}  // namespace igpu::exporter::top
