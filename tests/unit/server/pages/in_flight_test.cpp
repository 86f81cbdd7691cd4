// SPDX-License-Identifier: Apache-2.0
#include "server/pages/in_flight.h"

#include <doctest/doctest.h>

#include <optional>
#include <vector>

using namespace igpu::exporter;
using namespace std::chrono_literals;

TEST_SUITE_BEGIN("in_flight");

TEST_CASE("there are as many slots as the limit, and freed ones are reused") {
  InFlight places(2);
  std::optional<InFlight::Slot> first = places.enter("a", {});
  const InFlight::Slot second = places.enter("a", {});
  CHECK(*first);
  CHECK(second);
  CHECK_FALSE(places.enter("a", {}));
  first.reset();
  CHECK(places.enter("a", {}));
}

TEST_CASE("0 means no limit") {
  InFlight places(0);
  std::vector<InFlight::Slot> slots;
  for (int i = 0; i < 1000; ++i) slots.push_back(places.enter("a", {}));
  for (const InFlight::Slot& slot : slots) CHECK(slot);
  CHECK_FALSE(places.wait_until_idle(0ms));
  slots.clear();
  CHECK(places.wait_until_idle(0ms));
}

TEST_CASE(
    "when all slots are taken, the newest request of the client with the most of them loses its slot to one with "
    "fewer") {
  InFlight places(5);
  std::vector<InFlight::Slot> flood;
  const InFlight::Slot other = places.enter("other", {});
  for (int i = 0; i < 4; ++i) flood.push_back(places.enter("flood", {}));
  CHECK_FALSE(places.enter("flood", {}));
  const InFlight::Slot good = places.enter("good", {});
  CHECK(good);
  CHECK(flood[3].when_lost().stop_requested());
  const InFlight::Slot second = places.enter("good", {});
  CHECK(second);
  CHECK(flood[2].when_lost().stop_requested());
  CHECK_FALSE(places.enter("good", {}));  // 2 each: taking one more would only swap them
  for (int i = 0; i < 2; ++i) CHECK_FALSE(flood[static_cast<std::size_t>(i)].when_lost().stop_requested());
  CHECK_FALSE(other.when_lost().stop_requested());
}

TEST_CASE("clients that hold one slot each keep it") {
  InFlight places(2);
  const InFlight::Slot a = places.enter("a", {});
  const InFlight::Slot b = places.enter("b", {});
  CHECK_FALSE(places.enter("c", {}));
  CHECK_FALSE(a.when_lost().stop_requested());
  CHECK_FALSE(b.when_lost().stop_requested());
}

TEST_CASE("a request of a disconnected client holds no slot while it still runs") {
  InFlight places(1);
  std::stop_source gone;
  std::optional<InFlight::Slot> first = places.enter("a", gone.get_token());
  CHECK_FALSE(places.enter("a", {}));
  gone.request_stop();
  CHECK(first->when_lost().stop_requested());
  CHECK(places.enter("a", {}));
  CHECK_FALSE(places.wait_until_idle(0ms));
  first.reset();
  CHECK(places.wait_until_idle(0ms));
}

TEST_CASE("a client that disconnected before its request got a slot holds none") {
  InFlight places(1);
  std::stop_source gone;
  gone.request_stop();
  const InFlight::Slot dead = places.enter("a", gone.get_token());
  CHECK(dead.when_lost().stop_requested());
  CHECK(places.enter("a", {}));
}

TEST_SUITE_END();
