// SPDX-License-Identifier: Apache-2.0
#include "machine/slow_reads.h"

#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <vector>

#include "support/held_reads.h"
#include "support/test_machine.h"

using namespace igpu;
using namespace igpu::test;
using namespace std::chrono_literals;

TEST_SUITE_BEGIN("slow_reads");

TEST_CASE("files that are ready are there at once, in their order, each with its own outcome") {
  TestMachine m;
  m.tree.write("sys/a", "0123456789");
  m.tree.write("sys/c", "c");
  SlowReads reads(m.sys, {"a", "b", "c"}, 4);
  const auto read = reads.take(60s);
  REQUIRE(read);
  REQUIRE(read->size() == 3);
  CHECK(*read->at(0) == "0123");  // only the start
  CHECK(read->at(1).is_absent());
  CHECK(*read->at(2) == "c");
  CHECK_FALSE(reads.take(0s));  // once
}

TEST_CASE("a driver that lets its readers wait: the caller does not, and has the text later") {
  TestMachine m;
  m.tree.write("sys/a", "text");
  HeldReads driver(m.sys, "a");
  driver.gate.close();
  SlowReads reads(driver, {"a"}, 64);
  CHECK_FALSE(reads.take(0s));
  CHECK(driver.gate.wait_for_arrivals(1));
  CHECK_FALSE(reads.take(1ms));
  driver.gate.open();
  const auto read = reads.take(60s);
  REQUIRE(read);
  CHECK(*read->front() == "text");
}

TEST_CASE("one that nobody asks for ends with its owner") {
  TestMachine m;
  m.tree.write("sys/a", "text");
  const SlowReads reads(m.sys, {"a"}, 64);
}

TEST_SUITE_END();
