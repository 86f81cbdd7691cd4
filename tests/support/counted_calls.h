// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace igpu::test {

// The C library's own, for memory.
inline bool is_for_memory(std::uint64_t call) {
  return call == SYS_brk || call == SYS_mmap || call == SYS_munmap || call == SYS_madvise || call == SYS_mprotect;
}

// The system calls of `traced` in a copy of this process; nothing if this machine lets no process trace its child.
template <class Traced>
std::optional<std::vector<std::uint64_t>> calls_of(Traced&& traced) {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(1);
    (void)::raise(SIGSTOP);
    (void)::syscall(SYS_getppid);  // the begin
    traced();
    (void)::syscall(SYS_getppid);  // and the end
    ::_exit(0);
  }
  std::vector<std::uint64_t> calls;
  int marks = 0, status = 0;
  while (::waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
    if (WSTOPSIG(status) == SIGSTOP)
      (void)::ptrace(PTRACE_SETOPTIONS, child, nullptr, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
    if (WSTOPSIG(status) == (SIGTRAP | 0x80)) {
      __ptrace_syscall_info info{};
      if (::ptrace(PTRACE_GET_SYSCALL_INFO, child, sizeof info, &info) > 0 && info.op == PTRACE_SYSCALL_INFO_ENTRY) {
        if (info.entry.nr == SYS_getppid) {
          ++marks;
        } else if (marks == 1 && !is_for_memory(info.entry.nr)) {
          calls.push_back(info.entry.nr);
        }
      }
    }
    if (::ptrace(PTRACE_SYSCALL, child, nullptr, nullptr) != 0) break;
  }
  if (marks != 2) return std::nullopt;
  return calls;
}

}  // namespace igpu::test
