// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "igpu/model.h"
#include "view/format/json_writer.h"

// Texts for a machine without an Intel GPU.
namespace igpu::exporter {

// That there is no GPU, or a line for each that is on the bus without i915 or xe.
std::string without_gpus(const HostModel& host);
// Instead of an empty table.
std::string nothing_to_show(const HostModel& host);
inline bool shows_devices(const HostModel& host) { return !host.gpus.empty() || !host.npus.empty(); }

inline constexpr std::string_view kNoGpu = "No Intel GPU found";
// One line, for standard error or a table.
std::string no_gpu_line();

struct NoGpuAdvice {
  std::string why;
  std::string_view look;  // a line to copy, which lists GPUs
  std::string_view then;  // what helps, by what it shows
};
NoGpuAdvice no_gpu_advice(const std::string& sysfs_root);
// "no_gpu": cause, command and hint.
void write_no_gpu(JsonWriter& json, const std::string& sysfs_root);

}  // namespace igpu::exporter
