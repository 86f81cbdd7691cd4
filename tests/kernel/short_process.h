// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <doctest/doctest.h>
#include <spawn.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace igpu::test {

// A process of short_process.c; ends with this object. Spawned instead of forked: the child of a forked program that
// has threads or a sanitizer may wait for a lock that nobody holds any more.
class ShortProcess {
 public:
  explicit ShortProcess(std::vector<std::string> arguments, const std::string& program = IGPU_SHORT_PROCESS,
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
  ShortProcess(ShortProcess&& other) noexcept : pid_(std::exchange(other.pid_, 0)) {}
  ShortProcess& operator=(ShortProcess&&) = delete;
  ~ShortProcess() { end(); }

  void end() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  std::uint32_t pid() const { return static_cast<std::uint32_t>(pid_); }

 private:
  pid_t pid_ = 0;
};

}  // namespace igpu::test
