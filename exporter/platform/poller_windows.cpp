// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <system_error>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "platform/poller.h"
#include "platform/sockets.h"

namespace igpu::exporter {
namespace {

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
