// SPDX-License-Identifier: Apache-2.0
#include "push/connector.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <system_error>
#include <vector>

#include "igpu/message_with_fd.h"

namespace igpu::exporter {
namespace {

constexpr std::chrono::seconds kPerAddress(2);  // then the next one is tried
constexpr std::size_t kMostAddresses = 8;

struct ConnectAnswer {
  std::uint32_t serial = 0;
  int error = 0;     // errno
  int resolver = 0;  // a code of getaddrinfo(3), if the name was not resolved
};

struct Address {
  sockaddr_storage storage{};
  socklen_t size = 0;

  bool operator==(const Address& other) const {
    return size == other.size && std::memcmp(&storage, &other.storage, size) == 0;
  }
};

struct FreeAddresses {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};

int resolve(const PushEndpoint& endpoint, std::vector<Address>& addresses) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(endpoint.host.c_str(), std::to_string(endpoint.port).c_str(), &hints, &found);
  if (error != 0) return error;
  const std::unique_ptr<addrinfo, FreeAddresses> list(found);
  for (const addrinfo* at = list.get(); at != nullptr && addresses.size() < kMostAddresses; at = at->ai_next) {
    Address address;
    if (at->ai_addrlen > sizeof address.storage) continue;
    std::memcpy(&address.storage, at->ai_addr, at->ai_addrlen);
    address.size = at->ai_addrlen;
    addresses.push_back(address);
  }
  return addresses.empty() ? EAI_NONAME : 0;
}

const sockaddr* generic(const Address& address) {
  const void* const raw = &address.storage;
  return static_cast<const sockaddr*>(raw);
}

// requests: has input when a newer request makes this one pointless, or when the exporter has ended.
int connect_to(const Address& address, int requests, UniqueFd& connected) {
  UniqueFd fd(::socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return errno;
  if (::connect(fd.get(), generic(address), address.size) != 0) {
    if (errno != EINPROGRESS) return errno;
    const PushWait wait{std::chrono::steady_clock::now() + kPerAddress, requests};
    const PushWait::Ended ended = wait.on(fd.get(), POLLOUT);
    if (ended == PushWait::Ended::interrupted) return ECANCELED;
    if (ended == PushWait::Ended::late) return ETIMEDOUT;
    int error = 0;
    socklen_t size = sizeof error;
    if (::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) return errno;
    if (error != 0) return error;
  }
  connected = std::move(fd);
  return 0;
}

// False: there is none; `ended` if the other process is gone.
bool receive_answer(int socket, ConnectAnswer& answer, UniqueFd& fd, bool& ended) {
  const ssize_t size = receive_with_fd(socket, &answer, sizeof answer, fd, MSG_DONTWAIT);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  ended = size != sizeof answer;
  return !ended;
}

// The newest request that is there. False: the exporter has ended.
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

std::string to_text(const PushEndpoint& endpoint) {
  return PushAddress{"", endpoint.host, "", endpoint.port, false}.authority();
}

std::string problem_of(const ConnectAnswer& answer, const PushEndpoint& endpoint) {
  if (answer.resolver != 0) {
    return "the name " + endpoint.host + " cannot be resolved: " + ::gai_strerror(answer.resolver) +
           "; check the URL and this machine's DNS";
  }
  const std::string text = to_text(endpoint) + ": " + std::generic_category().message(answer.error);
  switch (answer.error) {
    case ECONNREFUSED:
      return text + "; is the receiver running, and is this its port?";
    case EPERM:
    case EACCES:
    case EAFNOSUPPORT:
      return text + "; the unit, the container or a firewall forbids it (docs/integrations.md)";
    case EMFILE:
    case ENFILE:
      return text + "; raise the limit of open files";
    default:
      return text + "; check the URL, the network and firewalls";
  }
}

}  // namespace

void prepare_to_resolve(const PushEndpoint& endpoint) {
  // With two servers that do not answer and one search domain, 8 s: less than an attempt to deliver has, so that there
  // is time for the address that worked.
  (void)::setenv("RES_OPTIONS", "timeout:2 attempts:1", 0);
  std::vector<Address> unused;
  (void)resolve(endpoint, unused);
}

void serve_connections(int socket, const PushEndpoint& endpoint) {
  std::vector<Address> worked;  // the address of the last connection
  for (;;) {
    ConnectAnswer answer;
    if (!next_request(socket, answer.serial)) return;
    std::vector<Address> addresses;
    answer.resolver = resolve(endpoint, addresses);
    if (answer.resolver != 0) {
      addresses = worked;  // while DNS is down
    } else if (!worked.empty()) {
      const auto at = std::find(addresses.begin(), addresses.end(), worked.front());
      if (at != addresses.end()) std::rotate(addresses.begin(), at, at + 1);
    }
    UniqueFd connected;
    for (const Address& address : addresses) {
      answer.error = connect_to(address, socket, connected);
      if (connected) worked = {address};
      if (connected || answer.error == ECANCELED) break;
    }
    if (connected) answer.resolver = 0;
    if (answer.error == ECANCELED) continue;  // a newer request is there
    if (!send_with_fd(socket, &answer, sizeof answer, connected.get())) return;
  }
}

Connector::Connected Connector::connect(const PushWait& wait) {
  const auto ended = [] { return Connected{{}, "the process that connects has ended: restart the exporter"}; };
  ++serial_;
  // A filled socket is one whose process hangs in the resolver.
  if (::send(socket_, &serial_, sizeof serial_, MSG_NOSIGNAL | MSG_DONTWAIT) != sizeof serial_ && errno != EAGAIN)
    return ended();
  for (;;) {
    const PushWait::Ended how = wait.on(socket_, POLLIN);
    if (how == PushWait::Ended::interrupted) return {};
    if (how == PushWait::Ended::late)
      return {{}, "no connection to " + to_text(endpoint_) + " in time; check the URL, DNS, the network and firewalls"};
    ConnectAnswer answer;
    Connected connected;
    bool gone = false;
    const bool received = receive_answer(socket_, answer, connected.socket, gone);
    if (gone) return ended();
    if (!received) continue;
    // To a request that was given up: its connection leads to the same endpoint.
    if (answer.serial != serial_ && !connected.socket) continue;
    // The kernel leaves out a descriptor that exceeds the limit.
    if (!connected.socket && answer.error == 0 && answer.resolver == 0) answer.error = EMFILE;
    if (!connected.socket) connected.problem = problem_of(answer, endpoint_);
    return connected;
  }
}

}  // namespace igpu::exporter
