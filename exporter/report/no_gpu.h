// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "igpu/model.h"

// Texts for a machine without an Intel GPU.
namespace igpu::exporter {

// Instead of an empty table.
std::string nothing_to_show(const HostModel& host);
inline bool shows_devices(const HostModel& host) { return !host.gpus.empty() || !host.npus.empty(); }

extern const std::string_view kNoGpu;  // "No Intel GPU bound to i915 or xe"

struct NoGpuAdvice {
  std::string why;
  std::string_view look;  // a line to copy, which lists GPUs
  std::string_view then;  // what helps, by what it shows
};
NoGpuAdvice no_gpu_advice(const std::string& sysfs_root);

}  // namespace igpu::exporter
