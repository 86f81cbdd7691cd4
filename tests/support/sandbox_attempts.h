// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <netinet/in.h>
#include <sys/un.h>

#include <cstddef>
#include <span>

// What a compromised exporter might try, one system call or a few each. Raw calls only, no memory from the heap: they
// are made in signal handlers, too.
namespace igpu::test {

// Made before the sandbox is closed, as the program's own are.
struct Surroundings {
  const char* file = nullptr;  // <folder>/file, which exists and may be read
  const char* folder = nullptr;
  const char* other = nullptr;    // <folder>/other, which does not exist
  const char* outside = nullptr;  // a world-readable file outside the paths that the sandbox allows
  const char* maps = nullptr;     // /proc/PID/maps of another process of the same user
  int listening = -1;             // 127.0.0.1
  sockaddr_in address{};          // its address
  sockaddr_in elsewhere{};        // of another one that listens
  int shut = -1;                  // another one that listened, shut down: MSG_FASTOPEN connects it
  int stream = -1;                // not connected
  int datagram = -1;              // not connected
  int pair = -1;                  // connected
  int receiver = -1;              // a world-writable UNIX datagram socket
  sockaddr_un receiver_address{};
  int processes = -1;    // /proc, as collectors have it open
  int opened = -1;       // `folder`
  int event = -1;        // a perf event of this thread that takes samples; -1: this user may have none
  unsigned uprobes = 0;  // the type of their events
};

// folder holds "file"; the files named keep existing. Not to be called twice for one folder.
Surroundings prepare_surroundings(const char* folder, const char* outside, const char* maps);

// Who may do it once the sandbox is closed. seccomp denies with EPERM.
enum class For {
  everybody,          // what answers and scrapes need
  collectors,         // needed by scrapes only: denied in threads that serve clients
  nobody,             // and the same works for any user without the sandbox
  nobody_yet,         // denied likewise; without the sandbox it may fail for lack of privileges, or on this kernel
  the_unconfined,     // Landlock answers EACCES; it works where Landlock is not
  the_flight_writer,  // in its own folder: denied to all threads of the exporter; anybody may without the sandbox
  death               // ends the process
};

struct Attempt {
  const char* name;
  For whom;
  bool (*succeeds)(const Surroundings&);  // else errno says why not
};

std::span<const Attempt> sandbox_attempts();
const Attempt* find_attempt(const char* name);  // null: there is none

// For attempts within another process: the signal's value is a serial number times kInjectedAttempts, plus the number
// of the attempt (end_to_end/sandbox_inject.cpp).
inline constexpr int kInjectedAttempts = 1000;
int injecting_signal();
const Attempt* attempt_number(int number);  // of all that find_attempt() finds; null: there is none

}  // namespace igpu::test
