// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

#include "view/top/host_frame.h"

namespace igpu::exporter::top {

enum class SortKey { busy, pid, user, gpu, render, copy, video, video_enhance, compute, memory, cpu, command };
inline constexpr int kSortKeys = 12;

inline constexpr std::chrono::minutes kLongestSpan{15};

enum class Detail { automatic, full, brief, line, hosts };  // hosts: a line for each, if there are several

// What stands over the screen until a key is pressed.
enum class Over { nothing, help, messages, process };

// A GPU among those of all hosts.
struct GpuPlace {
  std::size_t host = 0, gpu = 0;
  bool operator==(const GpuPlace&) const = default;
};

// What the user has chosen to see.
struct ViewState {
  SortKey sort = SortKey::busy;
  bool reversed = false;
  std::string filter;  // part of a command, user, PID, unit or container
  bool editing_filter = false;
  bool tree = false;  // shows processes below their unit or container
  bool workloads = false;
  Over over = Over::nothing;
  bool paused = false;
  Detail detail = Detail::automatic;
  std::chrono::minutes span{1};   // of the charts; 0: none
  std::optional<GpuPlace> focus;  // only this GPU and its processes
  std::string selected;           // key of a row; "" for none
  std::size_t messages_seen = 0;  // of ScreenContext::message_count
  int first_row = 0;              // scroll position of the table
  int first_gpu_line = 0;         // scroll position of the GPUs
};

}  // namespace igpu::exporter::top
