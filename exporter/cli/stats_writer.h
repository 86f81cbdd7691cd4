// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <string>

#include "cli/options.h"
#include "igpu/device.h"
#include "igpu/monitor.h"
#include "igpu/page.h"

namespace igpu::exporter {

// What one reading of `stats` is written from.
struct StatsReading {
  const PageView& page;
  std::span<const Gpu> gpus;
  std::span<const Finding> findings;
  std::chrono::system_clock::time_point time;
  Nanoseconds elapsed;  // since the previous reading, for the first one since the start
};

// An output format of `stats`.
class StatsWriter {
 public:
  virtual ~StatsWriter() = default;
  virtual void write(const StatsReading& reading, std::string& out) = 0;
  virtual void finish(std::string& /*out*/) {}
  virtual std::string note() const { return {}; }  // for standard error, after the end
};

// Throws UsageError if the format cannot show these GPUs.
std::unique_ptr<StatsWriter> make_stats_writer(const Options& options, std::span<const Gpu> gpus);

}  // namespace igpu::exporter
