// SPDX-License-Identifier: Apache-2.0
#include "http/sockets.h"

#include <arpa/inet.h>
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

#include "igpu/unique_fd.h"

namespace igpu::exporter {
namespace {

struct FreeAddresses {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

constexpr int kBacklog = 4096;  // the kernel caps it at net.core.somaxconn

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

// IPv4 first: "localhost" is 127.0.0.1.
const addrinfo* preferred(const Addresses& list) {
  for (const addrinfo* entry = list.get(); entry != nullptr; entry = entry->ai_next) {
    if (entry->ai_family == AF_INET) return entry;
  }
  return list.get();
}

[[noreturn]] void fail(const ListenAddress& address, const std::string& why) {
  throw std::runtime_error("cannot listen on " + address.text + ": " + why);
}

sockaddr_un unix_name(const std::string& path) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  std::memcpy(name.sun_path, path.c_str(), std::min(path.size(), sizeof(name.sun_path) - 1));
  return name;
}

const sockaddr* as_sockaddr(const void* address) { return static_cast<const sockaddr*>(address); }

// Removes the socket file that an earlier process left behind.
void remove_stale_unix_socket(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return;  // nothing to remove; bind reports any other problem
  if (!S_ISSOCK(status.st_mode)) {
    throw std::runtime_error("cannot listen on unix:" + path + ": the path exists and is not a socket");
  }
  const UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const sockaddr_un name = unix_name(path);
  if (socket && ::connect(socket.get(), as_sockaddr(&name), sizeof name) != 0 && errno == ECONNREFUSED) {
    (void)::unlink(path.c_str());
    return;
  }
  throw std::runtime_error("cannot listen on unix:" + path + ": " + text_of(EADDRINUSE));
}

// Whether an IPv6 socket also accepts IPv4.
bool takes_both(const ListenAddress& address, const sockaddr_in6& name, const std::vector<ListenAddress>& all) {
  if (address.kind == ListenAddress::Kind::every) return true;
  if (address.kind != ListenAddress::Kind::ipv6 || !IN6_IS_ADDR_UNSPECIFIED(&name.sin6_addr)) return false;
  return std::none_of(all.begin(), all.end(), [&](const ListenAddress& other) {
    return other.kind == ListenAddress::Kind::host && other.port == address.port;
  });
}

UniqueFd listening(const ListenAddress& address, const std::vector<ListenAddress>& all, int family, const void* name,
                   socklen_t size) {
  UniqueFd socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) fail(address, text_of(errno));
  const int on = 1;
  const int off = 0;
  if (family != AF_UNIX) (void)::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (family == AF_INET6) {
    const bool both = takes_both(address, *static_cast<const sockaddr_in6*>(name), all);
    (void)::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, both ? &off : &on, sizeof on);
  }
  if (::bind(socket.get(), as_sockaddr(name), size) != 0 || ::listen(socket.get(), kBacklog) != 0) {
    fail(address, text_of(errno));
  }
  return socket;
}

}  // namespace

bool host_has_ipv6() {
  const UniqueFd socket(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in6 any{};
  any.sin6_family = AF_INET6;
  return socket && ::bind(socket.get(), as_sockaddr(&any), sizeof any) == 0;
}

UniqueFd listen_on(const ListenAddress& address, const std::vector<ListenAddress>& all) {
  switch (address.kind) {
    case ListenAddress::Kind::unix_socket: {
      remove_stale_unix_socket(address.path);
      const sockaddr_un name = unix_name(address.path);
      return listening(address, all, AF_UNIX, &name, sizeof name);
    }
    case ListenAddress::Kind::every: {
      if (host_has_ipv6()) {
        sockaddr_in6 any{};
        any.sin6_family = AF_INET6;
        any.sin6_port = htons(address.port);
        return listening(address, all, AF_INET6, &any, sizeof any);
      }
      sockaddr_in any{};
      any.sin_family = AF_INET;
      any.sin_port = htons(address.port);
      return listening(address, all, AF_INET, &any, sizeof any);
    }
    case ListenAddress::Kind::host:
    case ListenAddress::Kind::ipv6:
      break;
  }
  std::string why;
  const Addresses list = lookup(address, why);
  if (!list) fail(address, why);
  const addrinfo* entry = preferred(list);
  sockaddr_storage target{};
  std::memcpy(&target, entry->ai_addr, entry->ai_addrlen);
  if (entry->ai_family == AF_INET) {
    reinterpret_cast<sockaddr_in*>(&target)->sin_port = htons(address.port);
  } else {
    reinterpret_cast<sockaddr_in6*>(&target)->sin6_port = htons(address.port);
  }
  return listening(address, all, entry->ai_family, &target, entry->ai_addrlen);
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

}  // namespace igpu::exporter
