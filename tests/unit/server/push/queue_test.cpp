// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "server/push/pusher.h"

using namespace igpu::exporter;
using namespace std::chrono_literals;

namespace {

PushItem item(std::string bytes, std::uint64_t samples = 1) { return {std::move(bytes), samples}; }

std::string deliver(PushQueue& queue) {
  const auto taken = queue.take();
  if (!taken) return "none";
  queue.finish();
  return taken->bytes;
}

}  // namespace

TEST_SUITE_BEGIN("push queue");

TEST_CASE("items come in order, each once") {
  PushQueue queue;
  CHECK(deliver(queue) == "none");
  CHECK(queue.add(item("a")) == 0);
  CHECK(queue.add(item("b")) == 0);
  CHECK(queue.size() == 2);
  CHECK(deliver(queue) == "a");
  CHECK(deliver(queue) == "b");
  CHECK(deliver(queue) == "none");
}

TEST_CASE("an item that was given back is the next one again") {
  PushQueue queue;
  queue.add(item("a"));
  queue.add(item("b"));
  CHECK(queue.take()->bytes == "a");
  queue.give_back();
  CHECK(queue.size() == 2);
  CHECK(deliver(queue) == "a");
}

TEST_CASE("ten minutes of outage at 15 s lose nothing; of seventeen minutes the oldest readings go, and are counted") {
  PushQueue queue;
  for (int i = 0; i < 40; ++i) CHECK(queue.add(item(std::to_string(i), 100)) == 0);
  std::uint64_t dropped = 0;
  for (int i = 40; i < 68; ++i) dropped += queue.add(item(std::to_string(i), 100));
  CHECK(dropped == 400);
  CHECK(queue.size() == 64);
  CHECK(deliver(queue) == "4");
}

TEST_CASE("the item that is being delivered is never dropped under it") {
  PushQueue queue({2, 100});
  queue.add(item("a"));
  queue.add(item("b", 7));
  const auto taken = queue.take();
  CHECK(queue.add(item("c")) == 7);
  queue.finish();
  CHECK(deliver(queue) == "c");
}

TEST_CASE("memory is bounded, whatever the number of items") {
  PushQueue queue({64, 100});
  for (int i = 0; i < 10; ++i) queue.add(item(std::string(40, 'x')));
  CHECK(queue.size() == 2);
  CHECK(queue.add(item(std::string(101, 'x'), 9)) == 9);  // alone too large
  CHECK(queue.size() == 2);
  CHECK(queue.add(item(std::string(100, 'y'))) == 2);
  CHECK(deliver(queue) == std::string(100, 'y'));
}

TEST_CASE("attempts come at intervals that double up to a minute, each with jitter") {
  double random = 0;
  Backoff backoff([&random] { return random; });
  CHECK(backoff.next({}) == 500ms);
  random = 0.5;
  CHECK(backoff.next({}) == 1500ms);
  for (int i = 0; i < 20; ++i) backoff.next({});
  CHECK(backoff.next({}) == 45s);
  random = 0;
  CHECK(backoff.next({}) == 30s);
  backoff.reset();
  CHECK(backoff.next({}) == 500ms);
}

TEST_CASE("a receiver's Retry-After is kept, within five minutes") {
  Backoff backoff([] { return 0.5; });
  CHECK(backoff.next(7s) == 7500ms);
  CHECK(backoff.next(100h) == 300s + 500ms);
  CHECK(backoff.next(-5s) == 500ms);
}

TEST_SUITE_END();
