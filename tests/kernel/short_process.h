// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <doctest/doctest.h>
#include <spawn.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "support/child_process.h"
#include "support/paths.h"

namespace igpu::test {

// A process of short_process.c; ends with this object. Spawned instead of forked: the child of a forked program that
// has threads or a sanitizer may wait for a lock that nobody holds any more.
class ShortProcess final : public ChildProcess {
 public:
  explicit ShortProcess(std::vector<std::string> arguments, const std::string& program = test_program("short_process"),
                        int output = -1, int input = -1) {
    arguments.insert(arguments.begin(), "short_process");
    std::vector<char*> pointers;
    for (std::string& argument : arguments) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    if (output >= 0) ::posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    if (input >= 0) ::posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    char* const environment[] = {nullptr};
    const int error = ::posix_spawn(&pid_, program.c_str(), &actions, nullptr, pointers.data(), environment);
    ::posix_spawn_file_actions_destroy(&actions);
    if (error != 0) pid_ = 0;
    REQUIRE(error == 0);
  }
};

}  // namespace igpu::test
