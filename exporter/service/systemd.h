// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "service/descriptor.h"

// What a service manager and a service say to each other: sd_notify(3) and sd_listen_fds(3), the protocol of both as
// systemd documents it. Not libsystemd: that would be a library with a dozen of its own in every process, for two
// environment variables and one datagram.
namespace igpu::exporter {

using Environment = std::function<const char*(const char*)>;  // ::getenv, or a test's

// A socket that was opened for us before we started (a .socket unit, systemd-socket-activate).
struct InheritedSocket {
  Descriptor descriptor;  // listens on a stream; close-on-exec
  std::string name;       // from LISTEN_FDNAMES: FileDescriptorName= or the unit's name; "" if it has none
};

// Those that LISTEN_FDS names, if LISTEN_PID says that they are for this process; else none. first: where they begin,
// 3 by the protocol. Throws std::runtime_error with one line that names the hint if one is no listening stream socket:
// serving fewer addresses than were asked for would go unnoticed. The caller owns them from then on; called once,
// before anything else is opened.
std::vector<InheritedSocket> inherited_sockets(const Environment& environment, int first = 3);

// Messages to the service manager. Every call is quietly nothing if there is none.
class ServiceNotifier {
 public:
  ServiceNotifier() = default;
  // Opens NOTIFY_SOCKET ("/path" or "@abstract") and keeps it open: later the sandbox lets nobody open sockets. Throws
  // std::runtime_error with one line that names the hint.
  explicit ServiceNotifier(const Environment& environment);

  bool connected() const { return static_cast<bool>(socket_); }
  void ready(std::string_view status) const;
  void status(std::string_view text) const;
  void stopping(std::string_view status) const;
  void alive() const;  // WATCHDOG=1

  // How often alive() has to be called: half of WATCHDOG_USEC. Nothing: the manager has no watchdog for this process.
  std::optional<std::chrono::milliseconds> watchdog_interval() const { return interval_; }

 private:
  void send(std::string_view message) const;

  Descriptor socket_;
  std::optional<std::chrono::milliseconds> interval_;
};

// Takes LISTEN_*, NOTIFY_SOCKET and WATCHDOG_* out of this process's environment; before any thread.
void clear_service_environment();

}  // namespace igpu::exporter
