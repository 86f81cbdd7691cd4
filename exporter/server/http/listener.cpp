// SPDX-License-Identifier: Apache-2.0
#include "server/http/listener.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <stdexcept>

#include "platform/own_process.h"

namespace igpu::exporter {
namespace {

constexpr int kBacklog = 4096;  // the kernel caps it at net.core.somaxconn

Addresses lookup(const ListenAddress& address, std::string& why) {
  addrinfo hints{};
  hints.ai_family = address.kind == ListenAddress::Kind::ipv6 ? AF_INET6 : AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = address.kind == ListenAddress::Kind::ipv6 ? AI_NUMERICHOST : 0;
  Addresses list;
  if (const int error = look_up(address.host, nullptr, hints, list); error != 0) why = lookup_error_text(error);
  return list;
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

const sockaddr* as_sockaddr(const void* address) { return static_cast<const sockaddr*>(address); }

// Whether an IPv6 socket also accepts IPv4.
bool takes_both(const ListenAddress& address, const sockaddr_in6& name, const std::vector<ListenAddress>& all) {
  if (address.kind == ListenAddress::Kind::every) return true;
  if (address.kind != ListenAddress::Kind::ipv6 || !IN6_IS_ADDR_UNSPECIFIED(&name.sin6_addr)) return false;
  return std::ranges::none_of(all, [&](const ListenAddress& other) {
    return other.kind == ListenAddress::Kind::host && other.port == address.port;
  });
}

UniqueSocket listening(const ListenAddress& address, const std::vector<ListenAddress>& all, int family,
                       const void* name, socklen_t size) {
  UniqueSocket socket = open_socket(family);
  if (!socket) fail(address, socket_error_text(last_socket_error()));
  if (address.kind != ListenAddress::Kind::unix_socket) own_address(socket.get());
  if (family == AF_INET6) {
    const bool both = takes_both(address, *static_cast<const sockaddr_in6*>(name), all);
    (void)set_option(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, both ? 0 : 1);
  }
  if (::bind(socket.get(), as_sockaddr(name), size) != 0 || ::listen(socket.get(), kBacklog) != 0) {
    fail(address, socket_error_text(last_socket_error()));
  }
  return socket;
}

constexpr unsigned kLoopbackNet = 127;  // 127.0.0.0/8

bool is_loopback(const std::string& address) {
  if (address.starts_with("unix:")) return true;
  std::string host = address.substr(0, address.rfind(':'));
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  host = host.substr(0, host.find('%'));  // fe80::1%eth0
  in_addr v4{};
  if (::inet_pton(AF_INET, host.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24) == kLoopbackNet;
  in6_addr v6{};
  if (::inet_pton(AF_INET6, host.c_str(), &v6) != 1) return false;
  if (IN6_IS_ADDR_V4MAPPED(&v6)) return v6.s6_addr[12] == kLoopbackNet;
  return IN6_IS_ADDR_LOOPBACK(&v6);
}

// Descriptors of the program itself (perf events of several GPUs, sysfs files) and of a scan of /proc.
constexpr std::size_t kOwnDescriptors = 256;

// Clients must not take the descriptors that a scrape needs.
FrontOptions within_limits(FrontOptions front) {
  if (const std::optional<std::uint64_t> limit = open_files_limit()) {
    const std::size_t left = std::max<std::size_t>(*limit > kOwnDescriptors ? *limit - kOwnDescriptors : 0, 32);
    front.connections = std::min(front.connections, left);
  }
  front.exchanges = std::min(front.exchanges, front.connections);
  return front;
}

std::vector<std::string> addresses_of(const std::vector<UniqueSocket>& sockets) {
  std::vector<std::string> addresses;
  addresses.reserve(sockets.size());
  for (const UniqueSocket& socket : sockets) addresses.push_back(local_address(socket.get()));
  return addresses;
}

}  // namespace

bool host_has_ipv6() {
  const UniqueSocket socket = open_socket(AF_INET6);
  sockaddr_in6 any{};
  any.sin6_family = AF_INET6;
  return socket && ::bind(socket.get(), as_sockaddr(&any), sizeof any) == 0;
}

UniqueSocket listen_on(const ListenAddress& address, const std::vector<ListenAddress>& all) {
  switch (address.kind) {
    case ListenAddress::Kind::unix_socket: {
      const CallersRights callers;
      sockaddr_storage name{};
      socklen_t size = 0;
      try {
        size = unix_name(address.path, name);
        remove_stale_socket_file(address.path);
      } catch (const std::runtime_error& error) {
        fail(address, error.what());
      }
      return listening(address, all, name.ss_family, &name, size);
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
    case ListenAddress::Kind::ipv6: break;
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
  return listening(address, all, entry->ai_family, &target, static_cast<socklen_t>(entry->ai_addrlen));
}

std::string local_address(int descriptor) {
  sockaddr_storage name{};
  socklen_t size = sizeof name;
  if (::getsockname(descriptor, reinterpret_cast<sockaddr*>(&name), &size) != 0) return "?";
  if (is_unix_name(name)) return "unix:" + unix_path(name);
  char host[INET6_ADDRSTRLEN + 20];
  char port[8];
  if (::getnameinfo(as_sockaddr(&name), size, host, sizeof host, port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) !=
      0) {
    return "?";
  }
  return (name.ss_family == AF_INET6 ? "[" + std::string(host) + "]" : std::string(host)) + ":" + port;
}

std::vector<std::string> reachable_from_outside(const std::vector<std::string>& bound) {
  std::vector<std::string> open;
  std::remove_copy_if(bound.begin(), bound.end(), std::back_inserter(open), is_loopback);
  return open;
}

ListeningSockets::ListeningSockets(std::vector<UniqueSocket> inherited, const std::vector<ListenAddress>& addresses)
    : sockets_(std::move(inherited)) {
  for (const ListenAddress& address : addresses) {
    try {
      sockets_.push_back(listen_on(address, addresses));
    } catch (...) {
      remove_files();
      throw;
    }
    if (address.kind == ListenAddress::Kind::unix_socket) files_.push_back(address.path);
  }
}

void ListeningSockets::remove_files() {
  for (const std::string& file : files_) remove_socket_file(file);
  files_.clear();
}

Listener::Listener(ListenerOptions options, std::vector<UniqueSocket> sockets, HttpHandler& handler, Log& log)
    : bound_(addresses_of(sockets)),
      responder_(options.workers, handler, log),
      front_(make_front(std::move(sockets), within_limits(options.front), std::move(options.tls), responder_, log)) {
  responder_.deliver_to(*front_);
  front_->start();
}

void Listener::stop(std::chrono::milliseconds grace) {
  front_->stop(grace);
  responder_.stop();
}

}  // namespace igpu::exporter
