// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "top/canvas.h"
#include "top/frame.h"
#include "top/history.h"
#include "top/screen.h"

namespace igpu::exporter::top {

// The GPUs of all hosts, or the one in focus, on a canvas of their own, which is as high as they need.
struct GpuPanel {
  explicit GpuPanel(int width) : canvas(Size{width, 0}) {}
  Canvas canvas;
  std::vector<Region> regions;
};

inline constexpr int kMinEngineCell = 38;
inline constexpr int kRoomyEngineCell = 60;  // with a longer history

GpuPanel draw_gpus(const Frame& frame, const History& history, const ViewState& view, const ScreenContext& context,
                   int width, Detail detail, int min_cell = kMinEngineCell);

// Number of a GPU on the screen: all hosts' GPUs are counted.
std::size_t gpu_number(const Frame& frame, GpuPlace place);

Style class_style(std::size_t index);

}  // namespace igpu::exporter::top
