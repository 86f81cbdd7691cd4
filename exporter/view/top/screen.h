// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "view/top/canvas.h"
#include "view/top/host_frame.h"

namespace igpu::exporter::top {

// What a drawing shows in addition to the frame.
struct ScreenContext {
  std::string clock;                  // "14:05:09"
  std::string interval;               // "1 s"
  std::string source;                 // "this machine", "simulation rack", "3 hosts"
  std::vector<std::string> messages;  // the newest of the library, the last at the end
  std::size_t message_count = 0;      // with those that are no longer kept
  bool unicode = true;                // false: only ASCII, also for names and bars
  bool keys = true;                   // false: the screen is printed once, without hints about keys
  // A frame that is older than this at `now` (on the clock of HostFrame::time) is marked as old.
  std::chrono::nanoseconds late_after = std::chrono::nanoseconds::max();
  std::chrono::nanoseconds now{};
};

// A part of the screen that reacts to the mouse.
struct Region {
  enum class Kind { column, row, gpu } kind = Kind::row;
  int x = 0, end = 0, y = 0, bottom = 0;  // end and bottom are excluded
  SortKey sort = SortKey::busy;
  std::string row;
  GpuPlace gpu;
};

struct Screen {
  Canvas canvas;
  std::vector<Region> regions;
  std::vector<std::string> rows;  // keys of all rows of the table, in its order
  int page_rows = 0;              // rows of the table that are visible
  int first_row = 0;              // the first visible row, chosen so that the selected row is visible
  int first_gpu_line = 0, last_first_gpu_line = 0;
};

// Draws everything. Pure: the same arguments give the same cells. height 0: as high as necessary.
Screen draw(const Frame& frame, const History& history, const ViewState& view, const ScreenContext& context, Size size);

}  // namespace igpu::exporter::top
