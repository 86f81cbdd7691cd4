// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "igpu/units.h"
#include "view/format/intel_gpu_top_output.h"

namespace igpu::exporter {

struct Options;

inline constexpr std::string_view kIntelGpuTop = "intel_gpu_top";  // command, and name of a link to the program

// The words of intel_gpu_top, as the original reads them.
struct IntelGpuTopArguments {
  enum class Output { none, json, csv, text };

  bool help = false, list = false;
  Output output = Output::none;  // the last one given
  IntelGpuTopLayout layout;
  std::optional<std::string> file;    // "-": standard output
  std::optional<std::string> filter;  // of devices
  Nanoseconds period = std::chrono::seconds(1);
  std::uint64_t records = 0;  // 0: endless
};

// Reads options.operands into options.intel_gpu_top. layout: IGT_LAYOUT, null if it is not set. Returns lines for
// standard error if a flag is invalid, otherwise "".
std::string read_intel_gpu_top_arguments(Options& options, const char* layout);

// Started by a link of this name, the program is that command.
void add_command_of_name(std::string_view program, std::vector<std::string>& arguments);

}  // namespace igpu::exporter
