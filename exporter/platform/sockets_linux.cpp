// SPDX-License-Identifier: Apache-2.0
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <system_error>

#include "platform/own_process.h"
#include "platform/sockets.h"

namespace igpu::exporter {
namespace {

// poll() reports POLLERR and POLLHUP always.
int state_of(int socket, short events) {
  pollfd state{socket, events, 0};
  return ::poll(&state, 1, 0) > 0 ? state.revents : 0;
}

static_assert(Poller::kRead == EPOLLIN && Poller::kWrite == EPOLLOUT && Poller::kError == EPOLLERR &&
              Poller::kHangUp == EPOLLHUP);

[[noreturn]] void fail(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

}  // namespace

UniqueSocket open_socket(int family, int type) {
  return UniqueSocket(::socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

int last_socket_error() { return errno; }

std::string socket_error_text(int error) { return std::generic_category().message(error); }

bool is_try_again(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

bool is_connecting(int error) { return error == EINPROGRESS; }

bool is_out_of_resources(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

int look_up(const std::string& host, const char* service, const addrinfo& hints, Addresses& list) {
  addrinfo* first = nullptr;
  const int error = ::getaddrinfo(host.c_str(), service, &hints, &first);
  list.reset(error == 0 ? first : nullptr);
  return error;
}

std::string lookup_error_text(int error) {
  return error == EAI_SYSTEM ? socket_error_text(errno) : ::gai_strerror(error);
}

int pending_error(int socket) {
  int error = 0;
  socklen_t length = sizeof error;
  (void)::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &length);
  return error;
}

bool set_option(int socket, int level, int name, int value) {
  return ::setsockopt(socket, level, name, &value, sizeof value) == 0;
}

void own_address(int socket) { (void)set_option(socket, SOL_SOCKET, SO_REUSEADDR, 1); }

UniqueSocket accept_connection(int listening, sockaddr_storage& client) {
  socklen_t size = sizeof client;
  return UniqueSocket(::accept4(listening, reinterpret_cast<sockaddr*>(&client), &size, SOCK_NONBLOCK | SOCK_CLOEXEC));
}

std::ptrdiff_t receive(int socket, std::span<char> into) { return ::recv(socket, into.data(), into.size(), 0); }

std::ptrdiff_t send(int socket, std::string_view first, std::string_view second) {
  const std::array<iovec, 2> pieces{
      {{const_cast<char*>(first.data()), first.size()}, {const_cast<char*>(second.data()), second.size()}}};
  // Not sendmsg(), which the sandbox denies because it could name an address.
  return ::writev(socket, pieces.data(), pieces.size());
}

void end_sending(int socket) { (void)::shutdown(socket, SHUT_WR); }

bool has_bytes(int socket) {
  char byte = 0;
  return ::recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

bool is_reset(int socket) { return (state_of(socket, 0) & (POLLERR | POLLHUP)) != 0; }

bool has_ended(int socket) { return (state_of(socket, POLLRDHUP) & (POLLERR | POLLHUP | POLLRDHUP)) != 0; }

bool wait_until_ready(int socket, bool to_write, std::chrono::milliseconds at_most) {
  pollfd waiting{socket, static_cast<short>(to_write ? POLLOUT : POLLIN), 0};
  const int ready = ::poll(&waiting, 1, static_cast<int>(std::max<std::int64_t>(at_most.count(), 0)));
  if (ready < 0 && errno != EINTR) throw std::runtime_error("poll: " + socket_error_text(errno));
  return ready != 0;
}

socklen_t unix_name(const std::string& path, sockaddr_storage& name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), std::min(path.size(), sizeof(address.sun_path) - 1));
  std::memcpy(&name, &address, sizeof address);
  return sizeof address;
}

bool is_unix_name(const sockaddr_storage& name) { return name.ss_family == AF_UNIX; }

std::string unix_path(const sockaddr_storage& name) { return reinterpret_cast<const sockaddr_un&>(name).sun_path; }

void remove_stale_socket_file(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return;  // nothing to remove; bind reports any other problem
  if (!S_ISSOCK(status.st_mode)) throw std::runtime_error("the path exists and is not a socket");
  const UniqueSocket socket = open_socket(AF_UNIX);
  sockaddr_storage name{};
  const socklen_t size = unix_name(path, name);
  if (socket && ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&name), size) != 0 && errno == ECONNREFUSED) {
    return remove_socket_file(path);
  }
  throw std::runtime_error(socket_error_text(EADDRINUSE));
}

void remove_socket_file(const std::string& path) {
  const CallersRights callers;
  (void)::unlink(path.c_str());
}

struct Poller::State {
  void control(int operation, int descriptor, std::uint32_t wanted, std::uint64_t number) const {
    epoll_event event{};
    event.events = wanted;
    event.data.u64 = number;
    (void)::epoll_ctl(epoll.get(), operation, descriptor, &event);
  }

  UniqueFd epoll, wake;
  std::array<epoll_event, 64> events{};
  std::array<Ready, 64> ready{};
};

Poller::Poller() : state_(std::make_unique<State>()) {
  state_->epoll = UniqueFd(::epoll_create1(EPOLL_CLOEXEC));
  if (!state_->epoll) fail("epoll_create1");
  state_->wake = UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!state_->wake) fail("eventfd");
  add(state_->wake.get(), EPOLLIN | EPOLLET, kWoken);  // edge-triggered: no read needed
}

Poller::~Poller() = default;

void Poller::add(int socket, std::uint32_t events, std::uint64_t number) {
  state_->control(EPOLL_CTL_ADD, socket, events, number);
}

void Poller::change(int socket, std::uint32_t events, std::uint64_t number) {
  state_->control(EPOLL_CTL_MOD, socket, events, number);
}

void Poller::remove(int socket) { state_->control(EPOLL_CTL_DEL, socket, 0, 0); }

void Poller::closing(int /*socket*/) {}

std::span<const Poller::Ready> Poller::wait(int at_most) {
  const auto& events = state_->events;
  const int count = ::epoll_wait(state_->epoll.get(), state_->events.data(), static_cast<int>(events.size()), at_most);
  const auto ready = static_cast<std::size_t>(std::max(count, 0));
  std::transform(events.begin(), events.begin() + static_cast<std::ptrdiff_t>(ready), state_->ready.begin(),
                 [](const epoll_event& event) {
                   return Ready{event.data.u64, event.events};
                 });
  return std::span(state_->ready).first(ready);
}

void Poller::wake() const { (void)::eventfd_write(state_->wake.get(), 1); }

}  // namespace igpu::exporter
