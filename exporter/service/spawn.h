// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <initializer_list>
#include <string>
#include <vector>

namespace igpu::exporter {

// Starts a program as posix_spawnp(3) does. environment: ends with a null pointer. usual: signals that this process
// ignores or handles, and the program does not. Throws std::runtime_error.
pid_t spawn(std::vector<std::string> command, char* const* environment, std::initializer_list<int> usual);

// What waitpid(2) tells, as a shell reports it: 128 + N for signal N.
int exit_status(int status);

}  // namespace igpu::exporter
