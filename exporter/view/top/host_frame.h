// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "igpu/model.h"
#include "igpu/page.h"
#include "view/report/gpu_summary.h"

namespace igpu::exporter::top {

// What `top` shows: the values read at one moment, by host and GPU. All text is safe for a terminal.

using ClassRatios = std::array<std::optional<double>, kEngineClasses>;

// A reading's value for the functions of canvas.h, which show a missing one as "-".
template <class Tag>
std::optional<double> value_of(const Reading<Quantity<Tag>>& reading) {
  return reading ? std::optional(reading->value) : std::nullopt;
}
inline ClassRatios values_of(const std::array<Reading<Ratio>, kEngineClasses>& readings) {
  ClassRatios ratios;
  for (std::size_t i = 0; i < ratios.size(); ++i) ratios[i] = value_of(readings[i]);
  return ratios;
}
template <class Row>
const std::vector<Row>& rows_of(const Reading<std::vector<Row>>& rows) {
  static const std::vector<Row> none;
  return rows ? *rows : none;
}

// False for a row that has only the engine's total time: another source measures this engine at present.
inline bool is_measured(const snapshot::Engine& engine) { return engine.busy || engine.wait || engine.sema; }

ClassRatios class_ratios(const GpuModel& gpu);

enum class HostState { waiting, ok, failed };

struct HostFrame : HostModel {
  std::string name;  // "" for this machine, unless other hosts are shown as well
  HostState state = HostState::waiting;
  std::string problem;                          // why the host failed, in one line
  std::unordered_map<std::string, double> cpu;  // processors in use on average since the frame before, by cpu_key()
  std::unordered_map<std::string, std::string> commands;  // whole, of the caller's own processes, by cpu_key()
  std::vector<ChannelRate> channel_rates;
  std::chrono::nanoseconds time{};  // CLOCK_MONOTONIC when the page was read
  Seconds unix_time{};              // the same since 1970
};

struct Frame {
  std::vector<HostFrame> hosts;
};

// The frame of a page of this process.
HostFrame frame_of(const PageView& page);
// The frame of a page of another exporter. Throws std::runtime_error if it holds no sample of an intel-gpu-exporter.
HostFrame frame_of(std::string_view exposition);

// Sets the rates in `now` from the counters of both frames.
void add_rates(HostFrame& now, const HostFrame& before);

std::string cpu_key(const snapshot::Process& process);
std::string cpu_key(const snapshot::Workload& workload);
std::optional<double> cpu_of(const HostFrame& host, const std::string& key);

// What is missing adds nothing.
inline void add_to(std::optional<double>& sum, std::optional<double> value) {
  if (value) sum = sum.value_or(0) + *value;
}

// The number of processes (or of workloads) on all GPUs.
std::size_t count_clients(const HostFrame& host, bool workloads);

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

// The most recent busy ratios of every engine, and those of the last quarter of an hour by class.
class History {
 public:
  using Values = std::deque<std::optional<double>>;  // the newest is last; nullopt: not measured

  // host: index of the host. Adds one value for each engine; nullopt for a known engine that is not in the frame.
  void add(std::size_t host, const HostFrame& frame);
  const Values& of(std::size_t host, const GpuModel& gpu, const snapshot::Engine& engine) const;

  struct Reading {
    std::chrono::nanoseconds at;  // as HostFrame::time
    ClassRatios ratios;
  };
  using Classes = std::deque<Reading>;                                            // the newest is last
  const Classes& classes_of(std::size_t host, const std::string& address) const;  // an NPU's are in compute

 private:
  static constexpr std::size_t kKept = 240, kKeptOfClasses = 1800;

  struct Kept {
    Values values;
    bool added = false;
  };
  static std::string key(const GpuModel& gpu, const snapshot::Engine& engine);

  std::map<std::size_t, std::map<std::string, Kept>> hosts_;
  std::map<std::pair<std::size_t, std::string>, Classes> classes_;  // by host and address of the GPU or NPU
};

}  // namespace igpu::exporter::top
