// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "view/top/canvas.h"
#include "view/top/host_frame.h"
#include "view/top/screen.h"

namespace igpu::exporter::top {

// A drawing of the GPUs of all hosts, or of the GPU in focus. Its canvas is as high as necessary.
struct GpuPanel {
  explicit GpuPanel(int width) : canvas(Size{width, 0}) {}
  Canvas canvas;
  std::vector<Region> regions;
};

inline constexpr int kMinEngineCell = 38;
inline constexpr int kRoomyEngineCell = 60;  // with a longer history

GpuPanel draw_gpus(const Frame& frame, const History& history, const ViewState& view, const ScreenContext& context,
                   int width, Detail detail, int min_cell = kMinEngineCell);

// The number of a GPU on the screen: that of its card or, of several hosts, counted over all of them.
std::size_t gpu_number(const Frame& frame, GpuPlace place);

Style class_style(std::size_t index);
std::string class_name(EngineClass engine_class);  // "enhance"

}  // namespace igpu::exporter::top
