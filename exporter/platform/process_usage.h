// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "igpu/unique_fd.h"

namespace igpu::exporter {

// Resources that this process uses. nullopt: the value cannot be read. Limits may be infinite.
struct ProcessUsage {
  std::optional<double> cpu_seconds;  // user and system
  std::optional<double> open_files, most_open_files;
  std::optional<double> virtual_bytes, most_virtual_bytes, resident_bytes;
  std::optional<double> threads;
};

class UsageReader {
 public:
  UsageReader();
  ProcessUsage read() const;
  // Seconds since the epoch; computed once, so that a clock step does not change it.
  std::optional<double> started() const { return started_; }

 private:
  std::optional<double> started_;
  UniqueFd memory_;  // Linux: /proc/self/statm
};

}  // namespace igpu::exporter
