// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "top/frame.h"

namespace igpu::exporter::top {

enum class SortKey { busy, pid, user, gpu, render, copy, video, video_enhance, compute, memory, cpu, command };
inline constexpr int kSortKeys = 12;

enum class Detail { automatic, full, brief, line };

// A GPU among those of all hosts.
struct GpuPlace {
  std::size_t host = 0, gpu = 0;
  bool operator==(const GpuPlace&) const = default;
};

// What the user chose, apart from the data.
struct ViewState {
  SortKey sort = SortKey::busy;
  bool reversed = false;
  std::string filter;  // part of a command, user, PID, unit or container
  bool editing_filter = false;
  bool tree = false;  // processes below their unit or container
  bool workloads = false;
  bool help = false;
  bool paused = false;
  Detail detail = Detail::automatic;
  std::optional<GpuPlace> focus;  // only this GPU and its processes
  std::string selected;           // key of a row; "" for none
  int first_row = 0;              // of the table, when it is scrolled
  int first_gpu_line = 0;         // of the GPUs, when they are scrolled
};

}  // namespace igpu::exporter::top
