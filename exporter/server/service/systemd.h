// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "igpu/unique_fd.h"
#include "platform/sockets.h"

// The protocols of sd_notify(3) and sd_listen_fds(3), as systemd documents them. Why not libsystemd:
// third_party/README.md.
namespace igpu::exporter {

using Environment = std::function<const char*(const char*)>;  // ::getenv, or a test's

// The sockets that the service manager opened before the start (a .socket unit, systemd-socket-activate): those of
// LISTEN_FDS if LISTEN_PID is this process, otherwise none; listening, non-blocking, close-on-exec. first: the first
// descriptor, 3 by the protocol. Throws std::runtime_error with a one-line message and hint if one is not a listening
// stream socket: serving fewer addresses than requested would go unnoticed. The caller owns them. Call once, before
// anything else is opened.
std::vector<UniqueSocket> inherited_sockets(const Environment& environment, int first = 3);

// Messages to the service manager. Without one, every call does nothing.
class ServiceNotifier {
 public:
  ServiceNotifier() = default;
  // Opens NOTIFY_SOCKET ("/path" or "@abstract") and keeps it open: later the sandbox allows no new sockets. Throws
  // std::runtime_error with one line.
  explicit ServiceNotifier(const Environment& environment);

  bool connected() const;
  void ready(std::string_view status) const;
  void stopping(std::string_view status) const;
  void alive() const;  // WATCHDOG=1

  // How often to call alive(): half of WATCHDOG_USEC. Empty: the manager has no watchdog for this process.
  std::optional<std::chrono::milliseconds> watchdog_interval() const { return interval_; }

 private:
  void send(std::string_view message) const;

  UniqueFd socket_;
  std::optional<std::chrono::milliseconds> interval_;
};

// Removes LISTEN_*, NOTIFY_SOCKET and WATCHDOG_* from this process's environment. Call before any thread exists.
void clear_service_environment();

}  // namespace igpu::exporter
