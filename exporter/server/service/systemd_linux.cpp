// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <stdexcept>
#include <system_error>

#include "platform/own_process.h"
#include "server/service/systemd.h"
#include "text/text.h"

namespace igpu::exporter {
namespace {

constexpr std::string_view kLineBreaks = "\n\r";

template <class T>
std::optional<T> number(const char* text) {
  return text != nullptr ? number_of<T>(text) : std::nullopt;
}

std::string error_text() { return std::generic_category().message(errno); }

int socket_option(int fd, int option) {
  int value = -1;
  socklen_t size = sizeof value;
  return ::getsockopt(fd, SOL_SOCKET, option, &value, &size) == 0 ? value : -1;
}

void check_listening(int fd) {
  const auto reject = [fd](const std::string& what) {
    throw std::runtime_error("socket activation: descriptor " + std::to_string(fd) + " " + what +
                             "; use ListenStream= and Accept=no in the .socket unit");
  };
  const int flags = ::fcntl(fd, F_GETFD);
  if (flags < 0) reject("is not open");
  const int family = socket_option(fd, SO_DOMAIN);
  if (family < 0) reject("is not a socket");
  if (family != AF_INET && family != AF_INET6 && family != AF_UNIX) reject("is neither an IP nor a UNIX socket");
  if (socket_option(fd, SO_TYPE) != SOCK_STREAM) reject("is not a stream socket");
  if (socket_option(fd, SO_ACCEPTCONN) != 1) reject("does not listen");
  if (::fcntl(fd, F_SETFD, flags | FD_CLOEXEC) != 0) reject("cannot be made close-on-exec: " + error_text());
  (void)::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
}

UniqueFd connect_to(std::string_view address) {
  const auto reject = [address](const std::string& what) {
    throw std::runtime_error("NOTIFY_SOCKET=" + std::string(address) + ": " + what);
  };
  sockaddr_un peer{};
  peer.sun_family = AF_UNIX;
  const bool abstract = address.starts_with('@');
  if (!abstract && !address.starts_with('/')) reject("is neither a path nor an abstract name");
  // An abstract name may fill the field; a path needs its terminating 0.
  if (address.size() + (abstract ? 0 : 1) > sizeof peer.sun_path) reject("is too long");
  std::copy(address.begin(), address.end(), peer.sun_path);
  if (abstract) peer.sun_path[0] = '\0';
  const std::size_t size = offsetof(sockaddr_un, sun_path) + address.size() + (abstract ? 0 : 1);

  UniqueFd descriptor(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!descriptor) reject(error_text());
  // A manager that does not read must not block this program forever.
  const timeval send_timeout{5, 0};
  ::setsockopt(descriptor.get(), SOL_SOCKET, SO_SNDTIMEO, &send_timeout, sizeof send_timeout);
  const CallersRights callers;
  const void* const raw = &peer;
  if (::connect(descriptor.get(), static_cast<const sockaddr*>(raw), static_cast<socklen_t>(size)) != 0) {
    reject(error_text());
  }
  return descriptor;
}

}  // namespace

std::vector<UniqueSocket> inherited_sockets(const Environment& environment, int first) {
  const auto pid = number<long>(environment("LISTEN_PID"));
  if (!pid || *pid != ::getpid()) return {};
  const auto count = number<int>(environment("LISTEN_FDS"));
  if (!count || *count < 0 || *count > 1024) {
    throw std::runtime_error(
        "socket activation: LISTEN_FDS is not a number of sockets; start it through a .socket unit");
  }
  std::vector<UniqueSocket> sockets;
  for (int i = 0; i < *count; ++i) {
    check_listening(first + i);
    sockets.emplace_back(first + i);
  }
  return sockets;
}

ServiceNotifier::ServiceNotifier(const Environment& environment) {
  const char* const address = environment("NOTIFY_SOCKET");
  if (address == nullptr || *address == '\0') return;
  socket_ = connect_to(address);

  const auto microseconds = number<std::uint64_t>(environment("WATCHDOG_USEC"));
  const char* const watched = environment("WATCHDOG_PID");
  const bool ours = watched == nullptr || number<long>(watched) == static_cast<long>(::getpid());
  if (!microseconds || *microseconds == 0 || !ours) return;
  constexpr std::uint64_t kMaximum = 24ULL * 3600 * 1'000'000;
  interval_ = std::chrono::milliseconds(std::max<std::uint64_t>(std::min(*microseconds, kMaximum) / 2000, 1));
}

bool ServiceNotifier::connected() const { return static_cast<bool>(socket_); }

void ServiceNotifier::ready(std::string_view status) const {
  send("READY=1\nSTATUS=" + std::string(status.substr(0, status.find_first_of(kLineBreaks))));
}

void ServiceNotifier::stopping(std::string_view status) const {
  send("STOPPING=1\nSTATUS=" + std::string(status.substr(0, status.find_first_of(kLineBreaks))));
}

void ServiceNotifier::alive() const { send("WATCHDOG=1"); }

// A failure is ignored: the manager is gone.
void ServiceNotifier::send(std::string_view message) const {
  if (!socket_) return;
  while (::send(socket_.get(), message.data(), message.size(), MSG_NOSIGNAL) < 0 && errno == EINTR) {
  }
}

void clear_service_environment() {
  for (const char* name : {"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES", "LISTEN_PIDFDID", "NOTIFY_SOCKET",
                           "WATCHDOG_USEC", "WATCHDOG_PID"}) {
    ::unsetenv(name);
  }
}

}  // namespace igpu::exporter
