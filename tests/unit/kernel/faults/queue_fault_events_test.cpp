// SPDX-License-Identifier: Apache-2.0
#include "kernel/faults/queue_fault_events.h"

#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <vector>

#include "support/fake_queue_faults.h"

using namespace igpu;
using namespace igpu::test;
using namespace std::chrono_literals;

namespace {

struct Seen {
  FaultSign sign{};
  std::string device;
  std::uint32_t gt = 0, queue = 0;
  std::optional<EngineClass> engine_class;
  std::optional<FaultProcess> process;
  Nanoseconds time{};
};

struct Reader {
  FakeQueueFaults kernel;
  QueueFaultEvents events;
  std::uint64_t lost = 0;

  std::vector<Seen> read() {
    std::vector<Seen> all;
    lost = events.read(kernel.slots(), [&](const FaultLine& line, Nanoseconds time) {
      all.push_back({line.sign, std::string(line.device), line.gt.value(), line.queue.value(), line.engine_class,
                     line.process, time});
    });
    return all;
  }
};

}  // namespace

TEST_SUITE_BEGIN("queue fault events");

TEST_CASE("what the programs wrote, once") {
  Reader r;
  CHECK(r.read().empty());
  r.kernel.add({.kind = FAULT_ENGINE_RESET, .queue = 65535, .gt = 1, .engine_class = 5, .time = 3s});
  r.kernel.add({.queue = 27, .pid = 19639, .name = "ffmpeg", .time = 4s});
  r.kernel.add({.kind = FAULT_CAT_ERROR, .engine_class = 3});
  const auto seen = r.read();
  REQUIRE(seen.size() == 3);
  CHECK(seen[0].sign == FaultSign::engine_reset);
  CHECK(seen[0].device == "0000:03:00.0");
  CHECK(seen[0].queue == 65535);
  CHECK(seen[0].gt == 1);
  CHECK(seen[0].engine_class == EngineClass::compute);
  CHECK(seen[0].time == 3s);
  CHECK_FALSE(seen[0].process);
  CHECK(seen[1].sign == FaultSign::job_timeout);
  CHECK(seen[1].engine_class == EngineClass::video);
  CHECK(seen[1].process == FaultProcess{19639, "ffmpeg"});
  CHECK(seen[2].sign == FaultSign::cat_error);
  CHECK(seen[2].engine_class == EngineClass::copy);
  CHECK(r.read().empty());
  CHECK(r.lost == 0);
}

TEST_CASE("each class has xe's own number; the firmware's engine, and one that is not known, have none") {
  constexpr std::array<std::optional<EngineClass>, 7> kExpected{
      EngineClass::render,  EngineClass::video, EngineClass::video_enhance, EngineClass::copy, std::nullopt,
      EngineClass::compute, std::nullopt};
  Reader r;
  for (std::size_t number = 0; number < kExpected.size(); ++number) r.kernel.add({.engine_class = number});
  const auto seen = r.read();
  REQUIRE(seen.size() == kExpected.size());
  for (std::size_t number = 0; number < kExpected.size(); ++number)
    CHECK(seen[number].engine_class == kExpected[number]);
}

TEST_CASE("a flood between two readings: the last ones are read, the others counted as lost") {
  Reader r;
  for (std::uint64_t i = 0; i < 1000; ++i) r.kernel.add({.queue = i});
  const auto seen = r.read();
  REQUIRE(seen.size() == FAULT_PLACES);
  CHECK(seen.front().queue == 1000 - FAULT_PLACES);
  CHECK(seen.back().queue == 999);
  CHECK(r.lost == 1000 - FAULT_PLACES);
  r.kernel.add({.queue = 7});
  CHECK(r.read().size() == 1);
  CHECK(r.lost == 0);
}

TEST_CASE("a place that is being written is read when it is complete") {
  Reader r;
  r.kernel.add({.queue = 1});
  r.kernel.add({.queue = 2});
  r.kernel.place_of(1)[FAULT_SEQUENCE] = 0;
  CHECK(r.read().size() == 1);
  r.kernel.place_of(1)[FAULT_SEQUENCE] = 2;
  const auto seen = r.read();
  REQUIRE(seen.size() == 1);
  CHECK(seen.front().queue == 2);
}

TEST_CASE("a place that was written again while the ring was read is lost") {
  Reader r;
  r.kernel.add({.queue = 1});
  r.kernel.place_of(0)[FAULT_SEQUENCE] = 1 + FAULT_PLACES;
  CHECK(r.read().empty());
  CHECK(r.lost == 1);
}

TEST_CASE("hostile memory: no kind, no device, names without an end") {
  Reader r;
  r.kernel.add({.kind = 9});
  r.kernel.add({.device = "../../etc"});
  r.kernel.add({.device = ""});
  r.kernel.add({.pid = 7, .name = "0123456789abcdef"});
  r.kernel.add({.pid = 7, .name = "x [1]\n\xff"});
  r.kernel.add({.pid = 7});
  const auto seen = r.read();
  REQUIRE(seen.size() == 3);
  CHECK(seen[0].process == FaultProcess{7, "0123456789abcdef"});
  CHECK(seen[1].process == FaultProcess{7, "x [1]\n\xff"});
  CHECK_FALSE(seen[2].process);
}

TEST_SUITE_END();
