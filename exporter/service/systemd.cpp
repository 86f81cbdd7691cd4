// SPDX-License-Identifier: Apache-2.0
#include "service/systemd.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <system_error>

namespace igpu::exporter {
namespace {

constexpr std::string_view kBlanksOfLines = "\n\r";

template <class T>
std::optional<T> number(const char* text) {
  if (text == nullptr) return std::nullopt;
  const std::string_view digits(text);
  T value{};
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

std::string error_text() { return std::generic_category().message(errno); }

int socket_option(int fd, int option) {
  int value = -1;
  socklen_t size = sizeof value;
  return ::getsockopt(fd, SOL_SOCKET, option, &value, &size) == 0 ? value : -1;
}

void check_listening(int fd) {
  const auto refuse = [fd](const std::string& what) {
    throw std::runtime_error("socket activation: descriptor " + std::to_string(fd) + " " + what +
                             "; use ListenStream= and Accept=no in the .socket unit");
  };
  const int flags = ::fcntl(fd, F_GETFD);
  if (flags < 0) refuse("is not open");
  const int family = socket_option(fd, SO_DOMAIN);
  if (family < 0) refuse("is no socket");
  if (family != AF_INET && family != AF_INET6 && family != AF_UNIX) refuse("is neither an IP nor a UNIX socket");
  if (socket_option(fd, SO_TYPE) != SOCK_STREAM) refuse("is no stream socket");
  if (socket_option(fd, SO_ACCEPTCONN) != 1) refuse("does not listen");
  if (::fcntl(fd, F_SETFD, flags | FD_CLOEXEC) != 0) refuse("cannot be made close-on-exec: " + error_text());
}

std::vector<std::string> names_of(const char* text) {
  std::vector<std::string> names;
  if (text == nullptr || *text == '\0') return names;
  std::string_view rest(text);
  for (;;) {
    const std::size_t end = rest.find(':');
    names.emplace_back(rest.substr(0, end));
    if (end == std::string_view::npos) return names;
    rest.remove_prefix(end + 1);
  }
}

Descriptor connect_to(std::string_view address) {
  const auto refuse = [address](const std::string& what) {
    throw std::runtime_error("NOTIFY_SOCKET=" + std::string(address) + ": " + what +
                             "; unset it, or use Type=exec in the unit");
  };
  sockaddr_un peer{};
  peer.sun_family = AF_UNIX;
  const bool abstract = address.starts_with('@');
  if (!abstract && !address.starts_with('/')) refuse("is neither a path nor an abstract name");
  // An abstract name may fill the field, a path needs the 0 behind it.
  if (address.size() + (abstract ? 0 : 1) > sizeof peer.sun_path) refuse("is too long");
  std::copy(address.begin(), address.end(), peer.sun_path);
  if (abstract) peer.sun_path[0] = '\0';
  const std::size_t size = offsetof(sockaddr_un, sun_path) + address.size() + (abstract ? 0 : 1);

  Descriptor descriptor(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!descriptor) refuse(error_text());
  // A manager that does not read shall not stop us for ever.
  const timeval patience{5, 0};
  ::setsockopt(descriptor.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  const void* const raw = &peer;
  if (::connect(descriptor.get(), static_cast<const sockaddr*>(raw), static_cast<socklen_t>(size)) != 0) {
    refuse(error_text());
  }
  return descriptor;
}

}  // namespace

std::vector<InheritedSocket> inherited_sockets(const Environment& environment, int first) {
  const auto pid = number<long>(environment("LISTEN_PID"));
  if (!pid || *pid != ::getpid()) return {};
  const auto count = number<int>(environment("LISTEN_FDS"));
  if (!count || *count < 0 || *count > 1024) {
    throw std::runtime_error("socket activation: LISTEN_FDS is no number of sockets; start it through a .socket unit");
  }
  const std::vector<std::string> names = names_of(environment("LISTEN_FDNAMES"));
  std::vector<InheritedSocket> sockets;
  for (int i = 0; i < *count; ++i) {
    check_listening(first + i);
    const auto at = static_cast<std::size_t>(i);
    sockets.push_back({Descriptor(first + i), at < names.size() ? names[at] : std::string()});
  }
  return sockets;
}

ServiceNotifier::ServiceNotifier(const Environment& environment) {
  const char* const address = environment("NOTIFY_SOCKET");
  if (address == nullptr || *address == '\0') return;
  socket_ = connect_to(address);

  const auto microseconds = number<std::uint64_t>(environment("WATCHDOG_USEC"));
  const char* const for_whom = environment("WATCHDOG_PID");
  const bool ours = for_whom == nullptr || number<long>(for_whom) == static_cast<long>(::getpid());
  if (!microseconds || *microseconds == 0 || !ours) return;
  constexpr std::uint64_t kLongest = 24ULL * 3600 * 1'000'000;
  interval_ = std::chrono::milliseconds(std::max<std::uint64_t>(std::min(*microseconds, kLongest) / 2000, 1));
}

void ServiceNotifier::ready(std::string_view status) const {
  send("READY=1\nSTATUS=" + std::string(status.substr(0, status.find_first_of(kBlanksOfLines))));
}

void ServiceNotifier::status(std::string_view text) const {
  send("STATUS=" + std::string(text.substr(0, text.find_first_of(kBlanksOfLines))));
}

void ServiceNotifier::stopping(std::string_view status) const {
  send("STOPPING=1\nSTATUS=" + std::string(status.substr(0, status.find_first_of(kBlanksOfLines))));
}

void ServiceNotifier::alive() const { send("WATCHDOG=1"); }

// A manager that has gone has nobody who could be told.
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
