// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <atomic>
#include <climits>
#include <stdexcept>
#include <system_error>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "platform/sockets.h"

namespace igpu::exporter {
namespace {

SOCKET handle(int socket) { return static_cast<SOCKET>(socket); }

// Before the first socket; Windows ends it with the process.
void start_winsock() {
  static const int started = [] {
    WSADATA data{};
    return ::WSAStartup(MAKEWORD(2, 2), &data);
  }();
  if (started != 0) throw std::runtime_error("Windows Sockets: " + windows_error_text(static_cast<DWORD>(started)));
}

UniqueSocket owned(SOCKET socket) { return UniqueSocket(socket == INVALID_SOCKET ? -1 : static_cast<int>(socket)); }

bool make_non_blocking(int socket) {
  u_long on = 1;
  return ::ioctlsocket(handle(socket), static_cast<long>(FIONBIO), &on) == 0;
}

// What the next read would give, without reading: the number of bytes, 0 at the end, -1 with last_socket_error().
int peek(int socket) {
  char byte = 0;
  return ::recv(handle(socket), &byte, 1, MSG_PEEK);
}

[[noreturn]] void fail(const char* what) { throw std::system_error(last_socket_error(), std::system_category(), what); }

SHORT to_windows(std::uint32_t events) {
  SHORT wanted = 0;
  if ((events & Poller::kRead) != 0) wanted |= POLLRDNORM;
  if ((events & Poller::kWrite) != 0) wanted |= POLLWRNORM;
  return wanted;
}

// Two connected TCP sockets of this process. Any local program may connect to the port: only our own connection counts.
std::pair<UniqueSocket, UniqueSocket> socket_pair() {
  const UniqueSocket listening = open_socket(AF_INET);
  if (!listening) fail("socket");
  own_address(listening.get());
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof name;
  auto* const address = reinterpret_cast<sockaddr*>(&name);
  if (::bind(static_cast<SOCKET>(listening.get()), address, size) != 0 ||
      ::listen(static_cast<SOCKET>(listening.get()), 8) != 0 ||
      ::getsockname(static_cast<SOCKET>(listening.get()), address, &size) != 0) {
    fail("loopback socket");
  }
  UniqueSocket here = open_socket(AF_INET);
  if (!here) fail("socket");
  if (::connect(static_cast<SOCKET>(here.get()), address, size) != 0 && !is_connecting(last_socket_error()))
    fail("connect");
  for (int i = 0; i < 64; ++i) {
    if (!wait_until_ready(listening.get(), false, std::chrono::seconds(10))) break;
    sockaddr_storage client{};
    UniqueSocket there = accept_connection(listening.get(), client);
    sockaddr_in own{};
    socklen_t own_size = sizeof own;
    if (!there || ::getsockname(static_cast<SOCKET>(here.get()), reinterpret_cast<sockaddr*>(&own), &own_size) != 0)
      continue;
    const auto& other = reinterpret_cast<const sockaddr_in&>(client);
    if (other.sin_port != own.sin_port || other.sin_addr.s_addr != own.sin_addr.s_addr) continue;
    (void)set_option(here.get(), IPPROTO_TCP, TCP_NODELAY, 1);
    return {std::move(here), std::move(there)};
  }
  throw std::system_error(WSAETIMEDOUT, std::system_category(), "loopback connection");
}

}  // namespace

void close_socket(int socket) { ::closesocket(handle(socket)); }

UniqueSocket open_socket(int family, int type) {
  start_winsock();
  UniqueSocket socket =
      owned(::WSASocketW(family, type, 0, nullptr, 0, WSA_FLAG_OVERLAPPED | WSA_FLAG_NO_HANDLE_INHERIT));
  if (socket && !make_non_blocking(socket.get())) return {};
  return socket;
}

int last_socket_error() { return ::WSAGetLastError(); }

std::string socket_error_text(int error) { return windows_error_text(static_cast<DWORD>(error)); }

bool is_try_again(int error) { return error == WSAEWOULDBLOCK || error == WSAEINTR; }

bool is_connecting(int error) { return error == WSAEWOULDBLOCK || error == WSAEINPROGRESS; }

bool is_out_of_resources(int error) { return error == WSAEMFILE || error == WSAENOBUFS; }

std::string lookup_error_text(int error) { return windows_error_text(static_cast<DWORD>(error)); }

int look_up(const std::string& host, const char* service, const addrinfo& hints, Addresses& list) {
  start_winsock();
  addrinfo* first = nullptr;
  const int error = ::getaddrinfo(host.c_str(), service, &hints, &first);
  list.reset(error == 0 ? first : nullptr);
  return error;
}

int pending_error(int socket) {
  int error = 0;
  int size = sizeof error;
  (void)::getsockopt(handle(socket), SOL_SOCKET, SO_ERROR, reinterpret_cast<char*>(&error), &size);
  return error;
}

bool set_option(int socket, int level, int name, int value) {
  return ::setsockopt(handle(socket), level, name, reinterpret_cast<const char*>(&value), sizeof value) == 0;
}

// SO_REUSEADDR lets any other program take the address here.
void own_address(int socket) { (void)set_option(socket, SOL_SOCKET, SO_EXCLUSIVEADDRUSE, 1); }

UniqueSocket accept_connection(int listening, sockaddr_storage& client) {
  int size = sizeof client;
  UniqueSocket socket = owned(::accept(handle(listening), reinterpret_cast<sockaddr*>(&client), &size));
  if (!socket) return {};
  // It may have inherited the mode of the listening socket, and is inheritable.
  (void)::SetHandleInformation(reinterpret_cast<HANDLE>(handle(socket.get())), HANDLE_FLAG_INHERIT, 0);
  if (!make_non_blocking(socket.get())) return {};
  return socket;
}

std::ptrdiff_t receive(int socket, std::span<char> into) {
  return ::recv(handle(socket), into.data(), static_cast<int>(std::min<std::size_t>(into.size(), INT_MAX)), 0);
}

std::ptrdiff_t send(int socket, std::string_view first, std::string_view second) {
  std::array<WSABUF, 2> pieces{};
  DWORD count = 0;
  for (const std::string_view piece : {first, second}) {
    if (piece.empty()) continue;
    pieces[count].buf = const_cast<char*>(piece.data());
    pieces[count++].len = static_cast<ULONG>(std::min<std::size_t>(piece.size(), INT_MAX));
  }
  DWORD sent = 0;
  if (::WSASend(handle(socket), pieces.data(), count, &sent, 0, nullptr, nullptr) != 0) return -1;
  return static_cast<std::ptrdiff_t>(sent);
}

void end_sending(int socket) { (void)::shutdown(handle(socket), SD_SEND); }

bool has_bytes(int socket) { return peek(socket) > 0; }

bool is_reset(int socket) {
  WSAPOLLFD state{handle(socket), 0, 0};
  if (::WSAPoll(&state, 1, 0) > 0 && (state.revents & (POLLERR | POLLNVAL)) != 0) return true;
  const int size = peek(socket);
  return size < 0 && !is_try_again(last_socket_error());
}

bool has_ended(int socket) { return is_reset(socket) || peek(socket) == 0; }

bool wait_until_ready(int socket, bool to_write, std::chrono::milliseconds at_most) {
  // select() and not WSAPoll(), which until Windows 10 2004 does not report a connection that was refused.
  fd_set wanted{}, failed{};
  wanted.fd_count = failed.fd_count = 1;
  wanted.fd_array[0] = failed.fd_array[0] = handle(socket);
  const auto milliseconds = std::max<std::int64_t>(at_most.count(), 0);
  timeval timeout{static_cast<long>(milliseconds / 1000), static_cast<long>(milliseconds % 1000 * 1000)};
  const int ready = ::select(0, to_write ? nullptr : &wanted, to_write ? &wanted : nullptr, &failed, &timeout);
  if (ready < 0) throw std::runtime_error("select: " + socket_error_text(last_socket_error()));
  return ready != 0;
}

socklen_t unix_name(const std::string& /*path*/, sockaddr_storage& /*name*/) {
  throw std::runtime_error("UNIX sockets are not supported on Windows; use 127.0.0.1:PORT");
}

bool is_unix_name(const sockaddr_storage& /*name*/) { return false; }

std::string unix_path(const sockaddr_storage& /*name*/) { return {}; }

void remove_stale_socket_file(const std::string& /*path*/) {}

void remove_socket_file(const std::string& /*path*/) {}

// What WSAPoll() watches, and at the same index the number of each. A socket that is not watched (index kMuted) has
// been added, too.
struct Poller::State {
  struct Known {
    std::uint64_t number;
    SHORT events;
    std::size_t index;
  };
  static constexpr std::size_t kMuted = ~std::size_t{0};

  void watch(int socket, Known& known) {
    known.index = watched.size();
    watched.push_back({static_cast<SOCKET>(socket), known.events, 0});
    numbers.push_back(known.number);
  }

  void mute(Known& known) {
    if (known.index == kMuted) return;
    if (known.index + 1 != watched.size()) {
      watched[known.index] = watched.back();
      numbers[known.index] = numbers.back();
      sockets.at(static_cast<int>(watched.back().fd)).index = known.index;
    }
    watched.pop_back();
    numbers.pop_back();
    known.index = kMuted;
  }

  // WSAPoll() reports the end of the other side's half, also where nothing is asked for, and for as long as it lasts.
  // epoll reports it as something to read, and only where that is asked for.
  std::uint32_t events_of(const WSAPOLLFD& entry) const {
    std::uint32_t events = 0;
    if ((entry.revents & POLLRDNORM) != 0) events |= kRead;
    if ((entry.revents & POLLWRNORM) != 0) events |= kWrite;
    if ((entry.revents & (POLLERR | POLLNVAL)) != 0) events |= kError;
    if ((entry.revents & POLLHUP) == 0) return events;
    if (is_reset(static_cast<int>(entry.fd))) return events | kError | kHangUp;
    if ((entry.events & POLLRDNORM) != 0) events |= kRead;
    return events;
  }

  std::vector<WSAPOLLFD> watched;
  std::vector<std::uint64_t> numbers;
  std::unordered_map<int, Known> sockets;
  std::vector<Ready> ready;
  std::vector<int> to_mute;

  UniqueSocket wakes, woken;
  std::atomic<bool> awake = false;  // a byte is under way, or has been received and not been reported
};

Poller::Poller() : state_(std::make_unique<State>()) {
  std::tie(state_->wakes, state_->woken) = socket_pair();
  add(state_->woken.get(), kRead, kWoken);
}

Poller::~Poller() = default;

void Poller::add(int socket, std::uint32_t events, std::uint64_t number) {
  closing(socket);
  state_->watch(socket, state_->sockets.try_emplace(socket, State::Known{number, to_windows(events), 0}).first->second);
}

void Poller::change(int socket, std::uint32_t events, std::uint64_t number) { add(socket, events, number); }

void Poller::remove(int socket) { closing(socket); }

void Poller::closing(int socket) {
  const auto known = state_->sockets.find(socket);
  if (known == state_->sockets.end()) return;
  state_->mute(known->second);
  state_->sockets.erase(known);
}

std::span<const Poller::Ready> Poller::wait(int at_most) {
  State& state = *state_;
  state.ready.clear();
  state.to_mute.clear();
  const int count = ::WSAPoll(state.watched.data(), static_cast<ULONG>(state.watched.size()), at_most);
  if (count == SOCKET_ERROR) ::Sleep(100);  // no loop at full speed, whatever the trouble
  if (count <= 0) return {};
  for (std::size_t i = 0; i < state.watched.size(); ++i) {
    const WSAPOLLFD& entry = state.watched[i];
    if (entry.revents == 0) continue;
    if (state.numbers[i] == kWoken) {
      char bytes[64];
      (void)receive(state.woken.get(), bytes);
      // Before the caller acts: what another thread does from now on wakes the next wait.
      state.awake.store(false);
    }
    const std::uint32_t events = state.events_of(entry);
    if (events != 0) {
      state.ready.push_back({state.numbers[i], events});
    } else {
      state.to_mute.push_back(static_cast<int>(entry.fd));
    }
  }
  for (const int socket : state.to_mute) state.mute(state.sockets.at(socket));
  return state.ready;
}

void Poller::wake() const {
  if (state_->awake.exchange(true)) return;
  if (send(state_->wakes.get(), "w") < 0) state_->awake.store(false);
}

}  // namespace igpu::exporter
