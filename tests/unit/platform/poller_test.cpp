// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <chrono>
#include <thread>

#include "platform/sockets.h"

using namespace igpu::exporter;

namespace {

constexpr int kLong = 60'000;  // milliseconds: a loaded machine

struct Pair {
  UniqueSocket ours, clients;
};

Pair connected() {
  const UniqueSocket listening = open_socket(AF_INET);
  own_address(listening.get());
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof name;
  auto* const address = reinterpret_cast<sockaddr*>(&name);
  REQUIRE(::bind(listening.get(), address, size) == 0);
  REQUIRE(::listen(listening.get(), 1) == 0);
  REQUIRE(::getsockname(listening.get(), address, &size) == 0);
  Pair pair;
  pair.clients = open_socket(AF_INET);
  if (::connect(pair.clients.get(), address, size) != 0) REQUIRE(is_connecting(last_socket_error()));
  REQUIRE(wait_until_ready(listening.get(), false, std::chrono::milliseconds(kLong)));
  sockaddr_storage client{};
  pair.ours = accept_connection(listening.get(), client);
  REQUIRE(pair.ours);
  REQUIRE(wait_until_ready(pair.clients.get(), true, std::chrono::milliseconds(kLong)));
  CHECK(pending_error(pair.clients.get()) == 0);
  return pair;
}

void reset(UniqueSocket& socket) {
  linger now{};
  now.l_onoff = 1;
  REQUIRE(::setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, reinterpret_cast<const char*>(&now), sizeof now) == 0);
  socket.reset();
}

std::uint32_t events_of(Poller& poller, std::uint64_t number, int at_most = kLong) {
  for (const Poller::Ready& ready : poller.wait(at_most))
    if (ready.number == number) return ready.events;
  return 0;
}

}  // namespace

TEST_SUITE_BEGIN("poller");

TEST_CASE("a wake-up from another thread ends the wait, and counts once") {
  Poller poller;
  std::thread other([&] {
    for (int i = 0; i < 100; ++i) poller.wake();
  });
  const auto ready = poller.wait(kLong);
  REQUIRE(ready.size() == 1);
  CHECK(ready[0].number == Poller::kWoken);
  other.join();
  while (!poller.wait(0).empty()) {  // those that came after the first report
  }
  poller.wake();
  CHECK(poller.wait(kLong).size() == 1);
  CHECK(poller.wait(0).empty());
}

TEST_CASE("a socket is reported while there is something to read, and only for what is asked") {
  Poller poller;
  const Pair pair = connected();
  poller.add(pair.ours.get(), Poller::kRead, 7);
  CHECK(poller.wait(0).empty());
  REQUIRE(send(pair.clients.get(), "GET ", "/") == 5);
  CHECK(events_of(poller, 7) == Poller::kRead);
  CHECK(events_of(poller, 7) == Poller::kRead);  // nobody has read it
  CHECK(has_bytes(pair.ours.get()));
  poller.change(pair.ours.get(), 0, 7);
  CHECK(poller.wait(0).empty());
  poller.change(pair.ours.get(), Poller::kWrite, 8);
  CHECK(events_of(poller, 8) == Poller::kWrite);
  poller.change(pair.ours.get(), Poller::kRead, 8);
  char bytes[16];
  CHECK(receive(pair.ours.get(), bytes) == 5);
  CHECK(poller.wait(0).empty());
  CHECK(receive(pair.ours.get(), bytes) < 0);
  CHECK(is_try_again(last_socket_error()));
}

TEST_CASE("the end of a client's half is something to read, not the end of the connection") {
  Poller poller;
  const Pair pair = connected();
  poller.add(pair.ours.get(), Poller::kRead, 7);
  end_sending(pair.clients.get());
  CHECK(events_of(poller, 7) == Poller::kRead);
  CHECK(has_ended(pair.ours.get()));
  CHECK_FALSE(is_reset(pair.ours.get()));
  // While its request is answered nothing is asked for: the end, which lasts, must not wake the thread again and again.
  poller.change(pair.ours.get(), 0, 7);
  (void)poller.wait(0);
  CHECK(poller.wait(50).empty());
  poller.change(pair.ours.get(), Poller::kRead, 7);
  CHECK(events_of(poller, 7) == Poller::kRead);
}

TEST_CASE("a reset is reported without being asked for") {
  Poller poller;
  Pair pair = connected();
  poller.add(pair.ours.get(), 0, 7);
  reset(pair.clients);
  CHECK((events_of(poller, 7) & (Poller::kError | Poller::kHangUp)) != 0);
  CHECK(has_ended(pair.ours.get()));
}

TEST_CASE("a reset shows without a poller, too") {
  Pair pair = connected();
  CHECK_FALSE(is_reset(pair.ours.get()));
  CHECK_FALSE(has_ended(pair.ours.get()));
  reset(pair.clients);
  // Wine reports it once, as Linux does to a read.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(kLong);
  bool seen = false;
  while (!seen && std::chrono::steady_clock::now() < deadline) seen = is_reset(pair.ours.get());
  CHECK(seen);
}

TEST_CASE("a closed socket is forgotten, and its number may be taken by the next one") {
  Poller poller;
  Pair first = connected();
  Pair second = connected();
  poller.add(first.ours.get(), Poller::kRead, 7);
  poller.add(second.ours.get(), Poller::kRead, 8);
  REQUIRE(send(first.clients.get(), "x") == 1);
  REQUIRE(events_of(poller, 7) == Poller::kRead);
  poller.closing(first.ours.get());
  first.ours.reset();
  CHECK(poller.wait(0).empty());
  const Pair third = connected();  // may have the first one's descriptor
  poller.add(third.ours.get(), Poller::kRead, 9);
  REQUIRE(send(third.clients.get(), "x") == 1);
  CHECK(events_of(poller, 9) == Poller::kRead);
  poller.remove(third.ours.get());
  CHECK(poller.wait(0).empty());
  REQUIRE(send(second.clients.get(), "x") == 1);
  CHECK(events_of(poller, 8) == Poller::kRead);
}

TEST_SUITE_END();
