// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <termios.h>

#include <string>

namespace igpu::exporter::top {

// While this object exists, a fatal signal (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT) in any thread first restores the
// terminal, then ends the program as usual. Only one object may exist at a time.
class CrashGuard {
 public:
  // restore: text that is written to the terminal. settings: those that are set again (echo, line editing).
  CrashGuard(int terminal, const termios& settings, const std::string& restore);
  ~CrashGuard();
  CrashGuard(const CrashGuard&) = delete;
  CrashGuard& operator=(const CrashGuard&) = delete;
};

}  // namespace igpu::exporter::top
