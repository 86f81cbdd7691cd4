// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>
#include <sys/wait.h>

#include <csignal>
#include <cstdint>
#include <utility>

namespace igpu::test {

// A child of the test, which is killed and reaped at the latest when this is destroyed.
class ChildProcess {
 public:
  ChildProcess() = default;
  explicit ChildProcess(pid_t pid) : pid_(pid) {}
  ChildProcess(ChildProcess&& other) noexcept : pid_(std::exchange(other.pid_, 0)) {}
  ChildProcess& operator=(ChildProcess&&) = delete;
  ~ChildProcess() { end(); }

  void end() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  std::uint32_t pid() const { return static_cast<std::uint32_t>(pid_); }

 protected:
  pid_t pid_ = 0;
};

}  // namespace igpu::test
