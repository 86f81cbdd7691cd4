// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "cli/options.h"
#include "igpu/device.h"
#include "igpu/monitor.h"
#include "igpu/page.h"

namespace igpu::exporter {

// What one reading of `stats` is written from.
struct StatsReading {
  const PageView& page;
  std::span<const Gpu> gpus;  // empty unless the format lists them
  std::span<const Finding> findings;
  std::chrono::system_clock::time_point time;
  Nanoseconds elapsed;  // since the previous reading, for the first one since the start
};

// An output format of `stats`.
struct StatsWriter {
  std::function<void(const StatsReading& reading, std::string& out)> write;
  std::function<void(std::string& out)> finish = [](std::string&) {};
  std::function<std::string()> note = [] { return std::string(); };  // for standard error, after the end
};

// The one table of formats, in stats_writer.cpp: a new format is one entry there.
struct StatsFormat {
  std::string_view name;
  // Throws UsageError if the format cannot show these GPUs.
  StatsWriter (*make)(const Options& options, std::span<const Gpu> gpus);
  bool lists_gpus = false;    // it needs StatsReading::gpus
  bool alone = true;          // each reading can be read without the others
  bool for_flag = true;       // a choice of --format
  bool keeps_window = false;  // the windows of the values do not follow the interval
};
std::span<const StatsFormat> stats_formats();
const StatsFormat& stats_format(std::string_view name);
// For --format: "table|json|csv".
std::string stats_format_names();

// One scrape as a table: each GPU with its engines, frequency, power, temperature, memory and busiest processes.
// Unknown values are omitted.
std::string stats_table(const PageView& page, std::span<const Gpu> gpus);

}  // namespace igpu::exporter
