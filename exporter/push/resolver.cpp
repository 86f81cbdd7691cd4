// SPDX-License-Identifier: Apache-2.0
#include "push/resolver.h"

#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <memory>

namespace igpu::exporter {
namespace {

struct Addresses {
  std::uint32_t serial = 0;
  int error = 0;                                              // a code of getaddrinfo(3)
  std::array<std::array<char, INET6_ADDRSTRLEN>, 8> texts{};  // until the first empty one
};

struct FreeAddresses {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};

void look_up(const PushEndpoint& endpoint, Addresses& found) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* first = nullptr;
  found.error = ::getaddrinfo(endpoint.host.c_str(), nullptr, &hints, &first);
  if (found.error != 0) return;
  const std::unique_ptr<addrinfo, FreeAddresses> list(first);
  std::size_t count = 0;
  for (const addrinfo* at = first; at != nullptr && count < found.texts.size(); at = at->ai_next) {
    std::array<char, INET6_ADDRSTRLEN>& text = found.texts[count];
    if (::getnameinfo(at->ai_addr, at->ai_addrlen, text.data(), INET6_ADDRSTRLEN, nullptr, 0, NI_NUMERICHOST) == 0)
      ++count;
  }
  if (count == 0) found.error = EAI_NONAME;
}

// The newest request that is there. False: the other process has ended.
bool next_request(int socket, std::uint32_t& serial) {
  int flags = 0;
  for (;;) {
    const ssize_t size = ::recv(socket, &serial, sizeof serial, flags);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) return true;
    if (size != sizeof serial) return false;
    flags = MSG_DONTWAIT;
  }
}

}  // namespace

void prepare_to_resolve(const PushEndpoint& endpoint) {
  // With two servers that do not answer and one search domain, 8 s: less than an attempt to deliver has, so that there
  // is time for the address that worked.
  (void)::setenv("RES_OPTIONS", "timeout:2 attempts:1", 0);
  Addresses unused;
  look_up(endpoint, unused);
}

void serve_addresses(int socket, const PushEndpoint& endpoint) {
  for (;;) {
    Addresses found;
    if (!next_request(socket, found.serial)) return;
    look_up(endpoint, found);
    if (::send(socket, &found, sizeof found, MSG_NOSIGNAL) != sizeof found) return;
  }
}

Resolver::Resolved Resolver::resolve(const PushWait& wait) {
  const auto ended = [] { return Resolved{{}, "the process that resolves names has ended: restart the exporter"}; };
  ++serial_;
  // A filled socket is one whose process hangs in the resolver.
  if (::send(socket_.get(), &serial_, sizeof serial_, MSG_NOSIGNAL | MSG_DONTWAIT) != sizeof serial_ && errno != EAGAIN)
    return ended();
  for (;;) {
    const PushWait::Ended how = wait.on(socket_.get(), POLLIN);
    if (how == PushWait::Ended::interrupted) return {};
    if (how == PushWait::Ended::late)
      return {{}, "the name " + host_ + " is not resolved in time; check the URL and this machine's DNS"};
    Addresses found;
    const ssize_t size = ::recv(socket_.get(), &found, sizeof found, MSG_DONTWAIT);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    // Each request has at most one answer, in their order.
    if (size != sizeof found || found.serial <= answered_ || found.serial > serial_) return ended();
    answered_ = found.serial;
    if (answered_ != serial_) continue;  // to a request that was given up
    Resolved resolved;
    for (std::array<char, INET6_ADDRSTRLEN>& text : found.texts) {
      text.back() = '\0';
      if (is_address(text.data())) resolved.addresses.emplace_back(text.data());
    }
    if (resolved.addresses.empty()) {
      resolved.problem = "the name " + host_ +
                         " cannot be resolved: " + ::gai_strerror(found.error == 0 ? EAI_NONAME : found.error) +
                         "; check the URL and this machine's DNS";
    }
    return resolved;
  }
}

}  // namespace igpu::exporter
