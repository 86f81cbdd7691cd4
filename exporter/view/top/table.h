// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "view/top/canvas.h"
#include "view/top/host_frame.h"
#include "view/top/screen.h"

namespace igpu::exporter::top {

// One line of the table: a process, a workload, or (in the tree) a unit or container with the sums of its processes.
struct TableRow {
  std::string key;     // identifies the row from frame to frame
  std::string branch;  // the lines of the tree, drawn before the command
  bool is_group = false;
  std::size_t number = 0;  // gpu_number()
  bool has_gpu = true;     // false: a group that uses several GPUs
  std::string host, pid, user, command, place;
  std::string whole_command;  // with its arguments; "" if they are not known
  ClassRatios classes;
  std::optional<double> memory, resident, cpu, clients;
  double busy() const;
};

// The rows after the filter, sorted; in the order of the tree if the tree is on.
std::vector<TableRow> table_rows(const Frame& frame, const ViewState& view, bool unicode);

std::string_view sort_name(SortKey key);
bool ascending_by_default(SortKey key);

struct TableArea {
  int top = 0, bottom = 0;  // bottom < 0: as many rows as there are
};
// Draws title and rows, and adds their regions and keys to the screen.
void draw_table(Screen& screen, const Frame& frame, const ViewState& view, const ScreenContext& context,
                TableArea area);

}  // namespace igpu::exporter::top
