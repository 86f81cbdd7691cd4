// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <string>

#include "server/http/connection_table.h"

using namespace igpu::exporter;
using Kind = Places::Kind;

namespace {

// As in the front: all places are taken, and one more connects.
struct Full {
  Places places;
  std::uint64_t next = 1;

  std::uint64_t enter(const std::string& client, Kind kind = Kind::newcomer) {
    places.enter(next, client, kind);
    return next++;
  }
  std::uint64_t come(const std::string& client) {
    places.leave(places.next_to_evict().value());
    return enter(client);
  }
  bool there(std::uint64_t ticket) {  // once for each
    const std::size_t before = places.size();
    places.leave(ticket);
    return places.size() < before;
  }
};

}  // namespace

TEST_SUITE_BEGIN("places");

TEST_CASE("an empty table evicts nobody, and a client that is being answered stays") {
  Places places;
  CHECK_FALSE(places.next_to_evict());
  places.enter(1, "a", Kind::answering);
  CHECK_FALSE(places.next_to_evict());
  places.enter(2, "b", Kind::newcomer);
  CHECK(places.next_to_evict() == 2);
  places.leave(2);
  places.leave(2);
  places.move(2, Kind::served);
  CHECK(places.size() == 1);
  CHECK_FALSE(places.next_to_evict());
}

TEST_CASE("the address with the most connections loses first, whatever the others do") {
  Full full;
  const std::uint64_t good = full.enter("good");
  for (int i = 0; i < 3; ++i) full.enter("other", Kind::served);
  for (int i = 0; i < 20; ++i) full.enter("flood");
  for (int i = 0; i < 1000; ++i) full.come("flood");
  CHECK(full.places.size() == 24);
  CHECK(full.there(good));
  CHECK(full.there(2));
  CHECK(full.there(4));
}

TEST_CASE("on a tie, the address that reached that number first loses") {
  Full full;
  for (int i = 0; i < 50; ++i) full.enter("a" + std::to_string(i));
  const std::uint64_t good = full.come("good");
  for (int i = 0; i < 49; ++i) full.come("b" + std::to_string(i));
  CHECK(full.places.next_to_evict() == good);  // after all that were there before it
}

TEST_CASE("idle connections are evicted for newcomers, up to half of the places") {
  Full full;
  for (int i = 0; i < 100; ++i) full.enter("a", Kind::served);
  for (int i = 0; i < 50; ++i) {
    CHECK(full.places.next_to_evict() == static_cast<std::uint64_t>(i + 1));  // the longest idle
    full.come("a");
  }
  const std::uint64_t good = full.come("a");
  const std::uint64_t idle = 60;
  for (int i = 0; i < 49; ++i) full.come("a");
  CHECK(full.there(good));
  for (int i = 0; i < 2000; ++i) full.come("a");
  CHECK(full.there(idle));  // half stays with those that were served
}

TEST_CASE("a newcomer survives as many arrivals as newcomers have places, then is evicted first") {
  Full full;
  for (int i = 0; i < 100; ++i) full.enter("a");
  const std::uint64_t good = full.come("a");
  for (int i = 0; i < 99; ++i) full.come("a");
  CHECK(full.places.next_to_evict() == good);
  full.places.move(good, Kind::served);
  for (int i = 0; i < 2000; ++i) full.come("a");
  CHECK(full.there(good));
}

TEST_CASE("a client that has its answer is evicted first, one that does not read it after the idle ones") {
  Places places;
  places.enter(1, "a", Kind::reader);
  places.enter(2, "a", Kind::served);
  places.enter(3, "a", Kind::lingering);
  places.enter(4, "a", Kind::newcomer);
  places.enter(5, "a", Kind::reader);
  for (const std::uint64_t next : {3U, 2U}) {
    CHECK(places.next_to_evict() == next);
    places.leave(next);
  }
  CHECK(places.next_to_evict() == 1);
  places.move(1, Kind::reader);  // read some bytes
  CHECK(places.next_to_evict() == 5);
}

TEST_SUITE_END();
