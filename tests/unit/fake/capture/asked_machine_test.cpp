// SPDX-License-Identifier: Apache-2.0
#include "fake/capture/asked_machine.h"

#include <doctest/doctest.h>

#include <array>

#include "base/scan.h"
#include "fake/capture/passes.h"
#include "fake/simulation/simulation.h"
#include "support/fake_clock.h"

using namespace igpu;
using namespace igpu::test;
using namespace std::chrono_literals;

TEST_SUITE_BEGIN("asked_machine");

TEST_CASE("an event that is open when the recording ends goes on counting") {
  FakeClock clock;
  const auto simulated = SimulatedMachine::create("tgl-broadcast", clock);
  Machine real = simulated->machine();
  capture::Recorder recorder(clock);
  capture::AskedMachine asked(recorder, &real);
  std::array<char, 64> text{};
  const auto type = asked.machine().sys.read("bus/event_source/devices/i915/type", text);
  REQUIRE(type);
  const auto event =
      asked.machine().perf.open({static_cast<std::uint32_t>(scan_u64(*type).value_or(0)), 0}, 0, nullptr);
  REQUIRE(event);
  std::array<std::uint64_t, 8> words{};
  REQUIRE((*event)->read(words));
  (void)recorder.take_passes();
  clock.advance(10s);
  const auto later = (*event)->read(words);
  REQUIRE(later);
  REQUIRE(later->size() == 4);
  CHECK((*later)[1] == 10'000'000'000);  // time enabled
  CHECK((*later)[3] > 0);
}

TEST_SUITE_END();
