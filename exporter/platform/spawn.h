// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <initializer_list>
#include <string>
#include <vector>

namespace igpu::exporter {

// Starts a program as posix_spawnp(3) does. environment: ends with a null pointer. usual: signals that this process
// ignores or handles; they get their default action in the program. Throws std::runtime_error.
pid_t spawn(std::vector<std::string> command, char* const* environment, std::initializer_list<int> usual);

// Waits for the end of a child process; returns its exit_status().
int wait_for_exit(pid_t child);

// The exit status that a shell would report for a status of waitpid(2): 128 + N for signal N.
int exit_status(int status);

}  // namespace igpu::exporter
