// SPDX-License-Identifier: Apache-2.0
#include "view/top/crash_guard.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>

namespace igpu::exporter::top {
namespace {

constexpr std::array<int, 5> kFaults{SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

// A signal handler reaches nothing but global state. Written before the handlers are set.
struct Restore {
  int terminal = -1;
  termios settings{};
  std::array<char, 256> text{};
  std::size_t size = 0;
  std::array<struct sigaction, kFaults.size()> before{};
};
Restore restore_state;
std::array<char, 64U << 10> stack_of_handler;  // the fault may be that the stack is full; all zero, so not in the file

// Only async-signal-safe calls.
extern "C" void restore_terminal_and_die(int signal) {
  const Restore& state = restore_state;
  (void)!::write(state.terminal, state.text.data(), state.size);
  (void)::tcsetattr(state.terminal, TCSANOW, &state.settings);
  // SA_RESETHAND has restored the default: the signal ends the program when the handler returns, with its core dump.
  (void)::raise(signal);
}

}  // namespace

CrashGuard::CrashGuard(int terminal, const termios& settings, const std::string& restore) {
  Restore& state = restore_state;
  state.terminal = terminal;
  state.settings = settings;
  state.size = std::min(restore.size(), state.text.size());
  std::copy_n(restore.begin(), state.size, state.text.begin());
  stack_t stack{};
  stack.ss_sp = stack_of_handler.data();
  stack.ss_size = stack_of_handler.size();
  (void)::sigaltstack(&stack, nullptr);
  struct sigaction action {};
  action.sa_handler = &restore_terminal_and_die;
  action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_ONSTACK;
  ::sigemptyset(&action.sa_mask);
  for (std::size_t i = 0; i < kFaults.size(); ++i) (void)::sigaction(kFaults[i], &action, &state.before[i]);
}

CrashGuard::~CrashGuard() {
  for (std::size_t i = 0; i < kFaults.size(); ++i) (void)::sigaction(kFaults[i], &restore_state.before[i], nullptr);
  stack_t none{};
  none.ss_flags = SS_DISABLE;
  (void)::sigaltstack(&none, nullptr);
}

}  // namespace igpu::exporter::top
