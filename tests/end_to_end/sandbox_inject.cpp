// SPDX-License-Identifier: Apache-2.0
// Loaded into the real program (LD_PRELOAD), it makes attempts of support/sandbox_attempts.h within whichever thread
// gets a signal, as injected code would, and writes what the kernel said: "SERIAL done" or "SERIAL EPERM". Not shipped.
//   IGPU_INJECT_FOLDER   has "file"; answers go to "answers" in it, which exists
//   IGPU_INJECT_OUTSIDE  a file that the sandbox does not let be read
//   IGPU_INJECT_MAPS     /proc/PID/maps of another process
// Or, with IGPU_INJECT_THREAD, it only makes a thread before anything else runs, which gives up nothing.
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "support/sandbox_attempts.h"

namespace {

using namespace igpu::test;

Surroundings surroundings;
int answers = -1;

void attempt(int, siginfo_t* info, void*) {
  const int error = errno;
  const int serial = info->si_value.sival_int / kInjectedAttempts;
  const Attempt* const wanted = attempt_number(info->si_value.sival_int % kInjectedAttempts);
  errno = 0;
  const bool done = wanted != nullptr && wanted->succeeds(surroundings);
  const char* const name = done ? "done" : ::strerrorname_np(errno);
  char line[64];
  const int size = std::snprintf(line, sizeof line, "%d %s\n", serial, name == nullptr ? "?" : name);
  (void)!::write(answers, line, static_cast<std::size_t>(size));
  errno = error;
}

void* sleep_on(void*) {
  for (;;) ::pause();
}

[[gnu::constructor]] void prepare() {
  // Not the program that becomes the exporter.
  if (std::strcmp(::program_invocation_short_name, "setpriv") == 0) return;
  pthread_t thread{};
  if (std::getenv("IGPU_INJECT_THREAD") != nullptr) ::pthread_create(&thread, nullptr, sleep_on, nullptr);
  const char* const folder = std::getenv("IGPU_INJECT_FOLDER");
  if (folder == nullptr) return;
  char path[512];
  std::snprintf(path, sizeof path, "%s/answers", folder);
  answers = ::open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
  surroundings = prepare_surroundings(folder, std::getenv("IGPU_INJECT_OUTSIDE"), std::getenv("IGPU_INJECT_MAPS"));
  struct sigaction action {};
  action.sa_sigaction = attempt;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  ::sigfillset(&action.sa_mask);
  ::sigaction(injecting_signal(), &action, nullptr);
}

}  // namespace

// In the C library's place: a thread that blocks all signals still gets the one that attempts come with.
extern "C" [[gnu::visibility("default")]] int pthread_sigmask(int how, const sigset_t* set, sigset_t* before) noexcept {
  sigset_t without;
  if (set != nullptr && how != SIG_UNBLOCK) {
    without = *set;
    ::sigdelset(&without, injecting_signal());
    set = &without;
  }
  return ::sigprocmask(how, set, before) == 0 ? 0 : errno;
}
