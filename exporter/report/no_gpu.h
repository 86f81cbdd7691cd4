// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

// Texts for a machine without an Intel GPU.
namespace igpu::exporter {

extern const std::string_view kNoGpu;  // "No Intel GPU bound to i915 or xe"

struct NoGpuAdvice {
  std::string why;
  std::string_view look;  // a line to copy, which lists GPUs
  std::string_view then;  // what helps, by what it shows
};
NoGpuAdvice no_gpu_advice(const std::string& sysfs_root);

}  // namespace igpu::exporter
