// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "igpu/model.h"
#include "igpu/page.h"
#include "view/report/channel_rates.h"

// What `top` shows: the values read at one moment, by host and GPU. All text is safe for a terminal.
namespace igpu::exporter::top {

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

}  // namespace igpu::exporter::top
