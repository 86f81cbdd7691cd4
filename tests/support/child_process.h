// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <functional>
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

// Runs work in a child. The answer is what it returns (small numbers), 98 if it throws, -1 if it did not return.
inline int in_child(const std::function<int()>& work) {
  const pid_t pid = ::fork();
  if (pid < 0) return -1;
  if (pid == 0) {
    int answer = 98;
    try {
      answer = work();
    } catch (...) {
    }
    ::_exit(answer);
  }
  int status = 0;
  return ::waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace igpu::test
