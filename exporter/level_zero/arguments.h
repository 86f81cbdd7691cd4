// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace igpu::exporter {

// What follows `level-zero` on the command line.
struct LevelZeroArguments {
  std::string action;  // run, list, report, csv, clean, install
  std::string csv, report, log, html;
  std::uint32_t stacks = 1;
  bool fail_on_leak = false;
  bool calls = false;
  std::vector<std::string> files;    // of report and csv; of install the folder
  std::vector<std::string> program;  // of run
};

}  // namespace igpu::exporter
