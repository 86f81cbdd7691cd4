// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// What `top` shows: the readings of one moment, by host and GPU. All text is safe for a terminal. A value that the page
// does not have is nullopt.
namespace igpu::exporter::top {

inline constexpr std::array<std::string_view, 5> kEngineClasses{"render", "copy", "video", "video_enhance", "compute"};
using ClassRatios = std::array<std::optional<double>, kEngineClasses.size()>;

struct EngineRow {
  std::string gt, name;
  std::string engine_class;
  bool from_clients = false;  // the visible clients' time instead of the engine's own
  std::optional<double> busy, wait, sema;
};

struct GtRow {
  std::string gt;
  std::optional<double> actual_hertz, requested_hertz;
  std::optional<double> min_hertz, max_hertz, highest_hertz;  // the settings and the hardware's upper bound
  std::optional<double> rc6;
  std::vector<std::string> throttle_reasons;
};

struct NamedValue {
  std::string name;
  double value = 0;
};
struct PowerRow {
  std::string domain;
  std::optional<double> watts, limit_watts;
};
struct MemoryRow {
  std::string region;
  std::optional<double> size, used;
};
struct Link {
  std::optional<double> speed, max_speed, width, max_width;
};

// Times of a counter, for its rate between two frames.
struct CountedBytes {
  std::string direction;
  double total = 0;
  std::optional<double> per_second;
};

struct MissingFeature {
  std::string feature, reason;
};

struct GpuFrame {
  std::string device;  // PCI address
  std::string card, driver, name, kind;
  bool suspended = false;
  bool hung = false;  // the kernel holds a captured GPU hang
  std::vector<EngineRow> engines;
  std::vector<GtRow> gts;
  std::vector<PowerRow> power;
  std::vector<NamedValue> temperatures, fans, voltages;
  std::vector<MemoryRow> memory;
  std::vector<CountedBytes> bandwidth;
  Link link;
  std::vector<MissingFeature> missing;
  std::optional<double> processes, processes_dropped;
};

struct ProcessRow {
  std::size_t gpu = 0;  // index in HostFrame::gpus
  std::string pid, comm, user, cgroup, container, unit;
  ClassRatios classes;
  std::optional<double> memory_bytes;    // resident GPU memory
  std::optional<double> resident_bytes;  // main memory
  std::optional<double> cpu_seconds;     // counter
  std::optional<double> cpu_ratio;       // of one processor, since the frame before
  std::optional<double> clients;

  double busy() const {  // of its busiest class; classes run at the same time
    double most = 0;
    for (const std::optional<double>& ratio : classes) most = std::max(most, ratio.value_or(0));
    return most;
  }
};

struct WorkloadRow {
  std::string name, kind;
  std::size_t gpu = 0;
  ClassRatios classes;
  std::optional<double> memory_bytes, resident_bytes, clients, processes, cpu_seconds, cpu_ratio;
};

enum class HostState { waiting, ok, failed };

struct HostFrame {
  std::string name;  // "" for this machine, unless others are shown as well
  HostState state = HostState::waiting;
  std::string problem;  // one line; of a failed host
  std::vector<std::string> failed_collectors;
  std::vector<GpuFrame> gpus;
  std::vector<ProcessRow> processes;
  std::vector<WorkloadRow> workloads;
  std::string processes_missing;    // why some or all processes are: "permission", "disabled", ...; "" if none are
  bool has_workloads = false;       // the collector runs
  std::size_t rows_left_out = 0;    // beyond what a page of an exporter holds
  std::chrono::nanoseconds time{};  // CLOCK_MONOTONIC when the page was read
};

struct Frame {
  std::vector<HostFrame> hosts;
};

}  // namespace igpu::exporter::top
