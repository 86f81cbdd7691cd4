// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace igpu::test {

struct ProgramOutcome {
  int status = -1;     // exit status; 128 + signal if it was killed; 127 if it does not exist
  std::string output;  // standard output and standard error
};

// Runs a program to its end. arguments[0] is looked up in PATH.
ProgramOutcome run_program(const std::vector<std::string>& arguments, std::string_view input = {});

}  // namespace igpu::test
