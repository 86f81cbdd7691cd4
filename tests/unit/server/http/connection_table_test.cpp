// SPDX-License-Identifier: Apache-2.0
#include "server/http/connection_table.h"

#include <doctest/doctest.h>

#include <chrono>
#include <memory>
#include <string>

using namespace igpu::exporter;
using namespace std::chrono_literals;
using State = Connection::State;

namespace {

struct Table : ConnectionTable {
  Table() : ConnectionTable(256) {}
  Connection& add(const std::string& client) {
    return ConnectionTable::add(plain_stream(igpu::exporter::UniqueSocket()), std::string(client), now);
  }
  SteadyTime now = SteadyTime() + 1h;
};

}  // namespace

TEST_SUITE_BEGIN("connection table");

TEST_CASE("connection numbers increase and are never reused") {
  Table table;
  const auto first = table.add("a").number;
  const auto second = table.add("a").number;
  CHECK(first == 256);
  CHECK(second == 257);
  table.remove(*table.find(second));
  CHECK(table.find(second) == nullptr);
  CHECK(table.add("a").number == 258);
  CHECK(table.size() == 2);
  CHECK(table.numbers().size() == 2);
  CHECK(table.find(first)->client == "a");
}

TEST_CASE("eviction picks the client with the most connections, and never one that is being answered") {
  Table table;
  Connection& alone = table.add("a");
  Connection& one = table.add("b");
  Connection& other = table.add("b");
  CHECK(table.next_to_evict() == &one);
  table.move(one, ConnectionTable::Kind::answering);
  table.move(other, ConnectionTable::Kind::answering);
  CHECK(table.next_to_evict() == &alone);
  table.move(alone, ConnectionTable::Kind::answering);
  CHECK(table.next_to_evict() == nullptr);
}

TEST_CASE("connections are late once their deadline has passed; without a deadline they never are") {
  Table table;
  Connection& early = table.add("a");
  Connection& late = table.add("a");
  table.add("a");
  CHECK(table.next_check() == SteadyTime::max());
  table.set_deadline(late, table.now + 10s);
  table.set_deadline(early, table.now + 1s);
  CHECK(table.next_check() == table.now + 1s);
  CHECK(table.take_late(table.now + 999ms).empty());
  CHECK(table.take_late(table.now + 1s) == std::vector{early.number});
  table.clear_deadline(early);
  CHECK(table.next_check() == table.now + 10s);
  CHECK(table.take_late(table.now + 1h) == std::vector{late.number});
}

TEST_CASE("the slowest reader is the one without progress for the longest time") {
  Table table;
  CHECK(table.slowest_reader() == nullptr);
  Connection& reader = table.add("a");
  Connection& slow = table.add("a");
  table.add("a").progress = SteadyTime();
  reader.state = slow.state = State::writing;
  slow.progress = reader.progress - 1s;
  CHECK(table.slowest_reader() == &slow);
  slow.progress = reader.progress + 1s;
  CHECK(table.slowest_reader() == &reader);
}

TEST_SUITE_END();
