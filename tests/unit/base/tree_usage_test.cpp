// SPDX-License-Identifier: Apache-2.0
#include "base/tree_usage.h"

#include <doctest/doctest.h>

#include <vector>

using namespace igpu;

namespace {

TreeProcess process(std::uint32_t pid, std::uint32_t parent, std::uint64_t start, std::uint64_t user) {
  TreeProcess p;
  p.pid = pid;
  p.parent = parent;
  p.start_ticks = start;
  p.user_ticks = user;
  return p;
}

// A process that waited for a child of that much user time.
TreeProcess waited(TreeProcess p, std::uint64_t reaped_user) {
  p.reaped_user_ticks += reaped_user;
  p.reaped_faults += 1;
  return p;
}

struct Scans {
  TreeUsage usage;
  std::uint64_t sum = 0;
  // Adds up what all of them gained.
  std::uint64_t scan(std::uint64_t now, const std::vector<TreeProcess>& processes) {
    std::uint64_t gain = 0;
    for (const TreeUsage::Gain& one : usage.advance(processes, now)) gain += one.user_ticks;
    sum += gain;
    return gain;
  }
};

}  // namespace

TEST_SUITE_BEGIN("tree usage");

TEST_CASE("a process that was there before the first scan counts from then on") {
  Scans scans;
  CHECK(scans.scan(100, {process(7, 1, 50, 1000)}) == 0);
  CHECK(scans.scan(200, {process(7, 1, 50, 1030)}) == 30);
}

TEST_CASE("a process that started after the previous scan counts whole, in the same tick, too") {
  Scans scans;
  scans.scan(100, {});
  CHECK(scans.scan(200, {process(7, 1, 100, 60), process(8, 1, 150, 5)}) == 65);
}

TEST_CASE("an older process that joins a group counts from now") {
  Scans scans;
  scans.scan(100, {});
  scans.scan(200, {});
  CHECK(scans.scan(300, {process(7, 1, 150, 60)}) == 0);
  CHECK(scans.scan(400, {process(7, 1, 150, 61)}) == 1);
}

TEST_CASE("a PID that is used again is another process") {
  Scans scans;
  scans.scan(100, {process(7, 1, 50, 1000)});
  CHECK(scans.scan(200, {process(7, 1, 150, 20)}) == 20);
  CHECK(scans.usage.known() == 1);
}

TEST_CASE("a child that ended between two scans shows in the parent that waited for it, and its time counts once") {
  Scans scans;
  const TreeProcess shell = process(7, 1, 50, 10);
  scans.scan(100, {shell});
  scans.scan(200, {shell, process(8, 7, 150, 40)});  // 40
  scans.scan(300, {waited(shell, 55)});              // it used 15 more before it ended
  CHECK(scans.sum == 55);
  CHECK(scans.scan(400, {waited(shell, 55)}) == 0);
}

TEST_CASE("a child that nobody saw shows in its parent") {
  Scans scans;
  const TreeProcess shell = process(7, 1, 50, 10);
  scans.scan(100, {shell});
  CHECK(scans.scan(200, {waited(shell, 300)}) == 300);
}

TEST_CASE("a child that ended after its parent was read is not counted twice") {
  Scans scans;
  const TreeProcess shell = process(7, 1, 50, 10);
  scans.scan(100, {shell, process(8, 7, 60, 0)});
  scans.scan(200, {shell, process(8, 7, 60, 40)});
  CHECK(scans.scan(300, {shell}) == 0);
  CHECK(scans.scan(400, {waited(shell, 42)}) == 2);
  CHECK(scans.sum == 42);
}

TEST_CASE("children that are never waited for take nothing off what comes later") {
  Scans scans;
  const TreeProcess shell = process(7, 1, 50, 10);
  scans.scan(100, {shell});
  scans.scan(200, {shell, process(8, 7, 150, 40)});
  scans.scan(300, {shell});
  scans.scan(400, {shell});
  CHECK(scans.scan(500, {waited(shell, 25)}) == 25);
}

TEST_CASE("a whole branch that ends counts once: the nearest ancestor that lives has all of it") {
  Scans scans;
  const TreeProcess packager = process(7, 1, 50, 10);
  scans.scan(100, {packager});
  scans.scan(200, {packager, process(8, 7, 110, 5), process(9, 8, 120, 200)});
  CHECK(scans.sum == 205);
  CHECK(scans.scan(300, {waited(packager, 5 + 230)}) == 30);
}

TEST_CASE("what a child that ended had been waiting for itself counts once") {
  Scans scans;
  const TreeProcess packager = process(7, 1, 50, 10);
  const TreeProcess script = process(8, 7, 110, 5);
  scans.scan(100, {packager});
  scans.scan(200, {packager, script, process(9, 8, 120, 200)});
  scans.scan(300, {packager, waited(script, 230)});
  CHECK(scans.sum == 235);
  CHECK(scans.scan(400, {waited(packager, 235)}) == 0);
}

TEST_CASE("bytes of children that were waited for are in their parent's count, and counted once") {
  TreeUsage usage;
  TreeProcess shell = process(7, 1, 50, 0);
  TreeProcess child = process(8, 7, 150, 0);
  shell.written_bytes = 100;
  child.written_bytes = 4096;
  const auto sum = [&](std::vector<TreeProcess> processes, std::uint64_t now) {
    std::uint64_t bytes = 0;
    for (const TreeUsage::Gain& gain : usage.advance(processes, now)) bytes += gain.written_bytes;
    return bytes;
  };
  CHECK(sum({shell}, 100) == 0);
  CHECK(sum({shell, child}, 200) == 4096);
  shell.written_bytes = 100 + 4096 + 512 + 8;  // the child wrote 512 more, the shell 8
  shell.reaped_faults = 1;
  CHECK(sum({shell}, 300) == 520);
  // A child that nobody waited for takes none of its parent's own bytes.
  CHECK(sum({shell,
             [&] {
               TreeProcess other = process(9, 7, 350, 0);
               other.written_bytes = 1000;
               return other;
             }()},
            400) == 1000);
  shell.written_bytes = *shell.written_bytes + 10;
  CHECK(sum({shell}, 500) == 10);
}

TEST_CASE("bytes that may not be read at first count from when they may") {
  TreeUsage usage;
  TreeProcess p = process(7, 1, 50, 0);
  usage.advance({{p}}, 100);
  p.read_bytes = 5000;
  CHECK(usage.advance({{p}}, 200)[0].read_bytes == 0);
  p.read_bytes = 5600;
  CHECK(usage.advance({{p}}, 300)[0].read_bytes == 600);
}

TEST_CASE("a count that steps back gains nothing") {
  Scans scans;
  scans.scan(100, {process(7, 1, 50, 1000)});
  CHECK(scans.scan(200, {process(7, 1, 50, 900)}) == 0);
}

TEST_CASE("parents that form a circle end nothing but the search") {
  Scans scans;
  scans.scan(100, {process(7, 8, 50, 1), process(8, 7, 50, 1)});
  CHECK(scans.scan(200, {}) == 0);
  CHECK(scans.usage.known() == 0);
}

TEST_CASE("ten thousand short processes leave nothing behind") {
  Scans scans;
  TreeProcess shell = process(7, 1, 50, 0);
  scans.scan(100, {shell});
  for (std::uint64_t i = 0; i < 10'000; ++i) {
    const std::uint64_t now = 200 + 10 * i;
    scans.scan(now, {shell, process(static_cast<std::uint32_t>(100 + i), 7, now - 5, 3)});
    shell = waited(shell, 4);
  }
  scans.scan(200'000, {shell});
  CHECK(scans.sum == 40'000);
  CHECK(scans.usage.known() == 1);
}

TEST_SUITE_END();
