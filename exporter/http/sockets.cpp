// SPDX-License-Identifier: Apache-2.0
#include "http/sockets.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <system_error>

#include "service/descriptor.h"

namespace igpu::exporter {
namespace {

struct FreeAddresses {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

std::string text_of(int error) { return std::generic_category().message(error); }

Addresses lookup(const ListenAddress& address, std::string& why) {
  addrinfo hints{};
  hints.ai_family = address.kind == ListenAddress::Kind::ipv6 ? AF_INET6 : AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = address.kind == ListenAddress::Kind::ipv6 ? AI_NUMERICHOST : 0;
  addrinfo* list = nullptr;
  const int error = ::getaddrinfo(address.host.c_str(), nullptr, &hints, &list);
  if (error != 0) why = error == EAI_SYSTEM ? text_of(errno) : ::gai_strerror(error);
  return Addresses(error == 0 ? list : nullptr);
}

const addrinfo* preferred(const Addresses& list) {
  for (const addrinfo* entry = list.get(); entry != nullptr; entry = entry->ai_next) {
    if (entry->ai_family == AF_INET) return entry;
  }
  return list.get();
}

sockaddr_un unix_name(const std::string& path) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  std::memcpy(name.sun_path, path.c_str(), std::min(path.size(), sizeof(name.sun_path) - 1));
  return name;
}

const sockaddr* as_sockaddr(const void* address) { return static_cast<const sockaddr*>(address); }

std::string why_not_bind(int family, const sockaddr* address, socklen_t size) {
  const Descriptor socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket) return text_of(errno);
  const int on = 1;
  (void)::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  return ::bind(socket.get(), address, size) == 0 ? std::string() : text_of(errno);
}

}  // namespace

bool host_has_ipv6() {
  const Descriptor socket(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in6 any{};
  any.sin6_family = AF_INET6;
  return socket && ::bind(socket.get(), as_sockaddr(&any), sizeof any) == 0;
}

std::string resolve_host(const ListenAddress& address) {
  std::string why;
  const Addresses list = lookup(address, why);
  if (!list) throw std::runtime_error("cannot listen on " + address.text + ": " + why);
  const addrinfo* entry = preferred(list);
  char text[INET6_ADDRSTRLEN + 20];
  if (::getnameinfo(entry->ai_addr, entry->ai_addrlen, text, sizeof text, nullptr, 0, NI_NUMERICHOST) != 0) {
    throw std::runtime_error("cannot listen on " + address.text + ": no such address");
  }
  return entry->ai_family == AF_INET6 ? "[" + std::string(text) + "]" : std::string(text);
}

void remove_stale_unix_socket(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return;  // nothing there; whatever else is wrong, bind says it
  if (!S_ISSOCK(status.st_mode)) {
    throw std::runtime_error("cannot listen on unix:" + path + ": the path exists and is no socket");
  }
  const Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const sockaddr_un name = unix_name(path);
  if (socket && ::connect(socket.get(), as_sockaddr(&name), sizeof name) != 0 && errno == ECONNREFUSED) {
    (void)::unlink(path.c_str());
    return;
  }
  throw std::runtime_error("cannot listen on unix:" + path + ": " + text_of(EADDRINUSE));
}

std::string why_not(const ListenAddress& address) {
  switch (address.kind) {
    case ListenAddress::Kind::unix_socket: {
      const sockaddr_un name = unix_name(address.path);
      const std::string why = why_not_bind(AF_UNIX, as_sockaddr(&name), sizeof name);
      if (why.empty()) (void)::unlink(address.path.c_str());
      return why;
    }
    case ListenAddress::Kind::every: {
      sockaddr_in6 any6{};
      any6.sin6_family = AF_INET6;
      any6.sin6_port = htons(address.port);
      if (host_has_ipv6()) return why_not_bind(AF_INET6, as_sockaddr(&any6), sizeof any6);
      sockaddr_in any4{};
      any4.sin_family = AF_INET;
      any4.sin_port = htons(address.port);
      return why_not_bind(AF_INET, as_sockaddr(&any4), sizeof any4);
    }
    case ListenAddress::Kind::host:
    case ListenAddress::Kind::ipv6: {
      std::string why;
      const Addresses list = lookup(address, why);
      if (!list) return why;
      const addrinfo* entry = preferred(list);
      sockaddr_storage target{};
      std::memcpy(&target, entry->ai_addr, entry->ai_addrlen);
      if (entry->ai_family == AF_INET) {
        reinterpret_cast<sockaddr_in*>(&target)->sin_port = htons(address.port);
      } else {
        reinterpret_cast<sockaddr_in6*>(&target)->sin6_port = htons(address.port);
      }
      return why_not_bind(entry->ai_family, as_sockaddr(&target), entry->ai_addrlen);
    }
  }
  return {};
}

std::vector<int> listening_descriptors() {
  std::vector<int> found;
  const long limit = std::min(::sysconf(_SC_OPEN_MAX), 4096L);  // asked at start only: our numbers are small
  for (int descriptor = 0; descriptor < limit; ++descriptor) {
    int listening = 0;
    socklen_t size = sizeof listening;
    if (::getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listening, &size) == 0 && listening != 0) {
      found.push_back(descriptor);
    }
  }
  return found;
}

std::string local_address(int descriptor) {
  sockaddr_storage name{};
  socklen_t size = sizeof name;
  if (::getsockname(descriptor, reinterpret_cast<sockaddr*>(&name), &size) != 0) return "?";
  if (name.ss_family == AF_UNIX) return std::string("unix:") + reinterpret_cast<const sockaddr_un*>(&name)->sun_path;
  char host[INET6_ADDRSTRLEN + 20];
  char port[8];
  if (::getnameinfo(as_sockaddr(&name), size, host, sizeof host, port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) !=
      0) {
    return "?";
  }
  return (name.ss_family == AF_INET6 ? "[" + std::string(host) + "]" : std::string(host)) + ":" + port;
}

void silence(int listening, int silent) {
  const Descriptor old(::fcntl(listening, F_DUPFD_CLOEXEC, 0));
  (void)::dup3(silent, listening, O_CLOEXEC);
  if (old) (void)::shutdown(old.get(), SHUT_RDWR);  // wakes whoever polls it
}

}  // namespace igpu::exporter
