// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <termios.h>

#include <string>

namespace igpu::exporter::top {

// While it lives, a fault of the program (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT) in any thread restores the terminal
// before it ends the program as it would without. One at a time.
class CrashGuard {
 public:
  // restore: what to write to the terminal. settings: of before (echo, line editing).
  CrashGuard(int terminal, const termios& settings, const std::string& restore);
  ~CrashGuard();
  CrashGuard(const CrashGuard&) = delete;
  CrashGuard& operator=(const CrashGuard&) = delete;
};

}  // namespace igpu::exporter::top
