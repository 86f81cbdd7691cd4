// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <string>

#include "kernel/clients/wddm_clients.h"
#include "machine/windows_status.h"
#include "support/fake_gpu_adapters.h"
#include "support/test_machine.h"

TEST_SUITE_BEGIN("process engine times");

using namespace igpu;
using namespace igpu::test;
using namespace std::chrono_literals;

namespace {

constexpr std::string_view kCard = "adapter 1a2b 8086 56a0 3 0 0 Intel(R) Arc(TM) A770 Graphics\n";
constexpr std::uint64_t kLuid = 0x1a2b;

struct CountedMachine : TestMachine {
  explicit CountedMachine(const std::string& counters) : adapters(std::string(kCard) + counters) {
    machine().adapters = &adapters;
  }
  void play(const std::string& counters) { adapters.play(std::string(kCard) + counters); }
  void pass(Nanoseconds time) {
    clock.advance(time);
    adapters.advance(static_cast<std::uint64_t>(time / 1ms));
  }
  FakeGpuAdapters adapters;
};

std::string instance(std::uint64_t milliseconds, const std::string& pid, const std::string& node = "0") {
  return "instance " + std::to_string(milliseconds * 10'000) + " pid_" + pid +
         "_luid_0x00000000_0x00001A2B_phys_0_eng_" + node + "_engtype_3D\n";
}

}  // namespace

TEST_CASE("the name of an instance says process, adapter and engine") {
  CHECK(parse_engine_counter_name("pid_12220_luid_0x00000001_0x0000C85A_phys_2_eng_5_engtype_Copy") ==
        EngineCounterName{12220, 0x10000c85a, 2, 5});
  CHECK(parse_engine_counter_name("pid_4_luid_0xFFFFFFFF_0xffffffff_phys_0_eng_0_engtype_") ==
        EngineCounterName{4, 0xffffffffffffffff, 0, 0});
  CHECK(parse_engine_counter_name("pid_4_luid_0x00000000_0x1_phys_0_eng_0_engtype_High Priority 3D_1"));
}

TEST_CASE("other names are none") {
  for (const std::string_view name :
       {"", "pid_", "pid_4", "pid_4_luid_0x0_0x1_phys_0", "pid_4_luid_0x0_0x1_phys_0_eng_0", "_Total",
        "pid_4_luid_0x0_0x1_phys_0_eng_0_engtyp", "pid_-4_luid_0x0_0x1_phys_0_eng_0_engtype_3D",
        "pid_4294967296_luid_0x0_0x1_phys_0_eng_0_engtype_3D", "pid_4_luid_0x0_0x1FFFFFFFF_phys_0_eng_0_engtype_3D",
        "pid_ 4_luid_0x0_0x1_phys_0_eng_0_engtype_3D", "pid_4_luid_0x_0x1_phys_0_eng_0_engtype_3D",
        "pid_4_luid_0x0_0x1_phys_0_eng_4294967296_engtype_3D", "PID_4_luid_0x0_0x1_phys_0_eng_0_engtype_3D"}) {
    CAPTURE(name);
    CHECK_FALSE(parse_engine_counter_name(name));
  }
}

TEST_CASE("processes add up by engine, from the first reading on") {
  CountedMachine m("counter 7 0 300\ncounter 8 0 50\ncounter 8 1 20\n");
  ProcessEngineTimes times(m.machine(), kLuid);
  m.pass(10s);
  REQUIRE(times.refresh());
  CHECK(times.busy(0) == 0s);
  m.pass(10s);
  REQUIRE(times.refresh());
  CHECK(times.busy(0) == 3500ms);
  CHECK(times.busy(1) == 200ms);
  CHECK(times.busy(2) == 0s);
}

TEST_CASE("what a process gained stays when it ends; one that begins counts in full") {
  CountedMachine m(instance(60'000, "7"));
  ProcessEngineTimes times(m.machine(), kLuid);
  REQUIRE(times.refresh());
  m.clock.advance(10s);
  m.play(instance(64'000, "7"));
  REQUIRE(times.refresh());
  m.clock.advance(10s);
  m.play(instance(5'000, "8"));
  REQUIRE(times.refresh());
  CHECK(times.busy(0) == 9s);
  m.clock.advance(10s);
  m.play("");
  REQUIRE(times.refresh());
  CHECK(times.busy(0) == 9s);
}

TEST_CASE("a process that is new and has more time than has passed only became visible") {
  CountedMachine m(instance(1'000, "7"));
  ProcessEngineTimes times(m.machine(), kLuid);
  REQUIRE(times.refresh());
  m.clock.advance(10s);
  m.play(instance(1'000, "7") + instance(3'600'000, "8"));
  REQUIRE(times.refresh());
  CHECK(times.busy(0) == 0s);
  m.clock.advance(10s);
  m.play(instance(1'000, "7") + instance(3'602'000, "8"));
  REQUIRE(times.refresh());
  CHECK(times.busy(0) == 2s);
}

TEST_CASE("a number that Windows gives to another process, and a leap, add nothing") {
  CountedMachine m(instance(1'000, "7"));
  ProcessEngineTimes times(m.machine(), kLuid);
  REQUIRE(times.refresh());
  m.clock.advance(1s);
  m.play(instance(200, "7"));
  REQUIRE(times.refresh());
  CHECK(times.busy(0) == 0s);
  m.clock.advance(1s);
  m.play(instance(86'400'000, "7"));
  REQUIRE(times.refresh());
  CHECK(times.busy(0) == 0s);
}

TEST_CASE("instances of other adapters and of linked ones are left out") {
  CountedMachine m(instance(1'000, "7") +
                   "instance 0 pid_7_luid_0x00000000_0x00000077_phys_0_eng_0_engtype_3D\n"
                   "instance 0 pid_7_luid_0x00000000_0x00001A2B_phys_1_eng_0_engtype_3D\n");
  ProcessEngineTimes times(m.machine(), kLuid);
  REQUIRE(times.refresh());
  m.clock.advance(10s);
  m.play(instance(2'000, "7") +
         "instance 50000000 pid_7_luid_0x00000000_0x00000077_phys_0_eng_0_engtype_3D\n"
         "instance 50000000 pid_7_luid_0x00000000_0x00001A2B_phys_1_eng_0_engtype_3D\n");
  REQUIRE(times.refresh());
  CHECK(times.busy(0) == 1s);
  CHECK(times.refused() == 0);
}

TEST_CASE("values that cannot be are refused and hide no others") {
  CountedMachine m(instance(1'000, "7") + "instance -1 pid_8_luid_0x0_0x1A2B_phys_0_eng_0_engtype_3D\n" +
                   instance(1'000, "9", "256") +
                   "instance 9223372036854775807 pid_9_luid_0x0_0x1A2B_phys_0_eng_1_engtype_3D\n");
  ProcessEngineTimes times(m.machine(), kLuid);
  REQUIRE(times.refresh());
  CHECK(times.refused() == 3);
  m.clock.advance(10s);
  m.play(instance(2'000, "7"));
  REQUIRE(times.refresh());
  CHECK(times.refused() == 0);
  CHECK(times.busy(0) == 1s);
}

TEST_CASE("without a counter of this GPU there is no time, and no zero") {
  CountedMachine m("instance 5 pid_7_luid_0x0_0x77_phys_0_eng_0_engtype_3D\n");
  CHECK(ProcessEngineTimes(m.machine(), kLuid).refresh().is_absent());
  m.play("instance 5 pid_7_luid_in_another_form\n");
  CHECK(ProcessEngineTimes(m.machine(), kLuid).refresh().is_failure());
  m.play("fail pdh c0000bb9\n");
  CHECK(ProcessEngineTimes(m.machine(), kLuid).refresh().is_absent());
  m.adapters.has_counters = false;
  CHECK(ProcessEngineTimes(m.machine(), kLuid).refresh().is_absent());
}

TEST_CASE("a status of the performance counters becomes an outcome") {
  const auto outcome = [](std::uint32_t status) {
    return outcome_of_pdh_status<int>(static_cast<PdhStatus>(status), "PdhCollectQueryData");
  };
  CHECK(outcome(0xc0000bb8).absent().reason == Reason::kernel);
  CHECK(outcome(0xc0000bb9).absent().reason == Reason::kernel);
  CHECK(outcome(0xc0000bdb).absent().reason == Reason::permission);
  CHECK(outcome(5).absent().reason == Reason::permission);
  REQUIRE(outcome(0xc0000bc6).is_failure());
  CHECK(outcome(0xc0000bc6).failure().where == "PdhCollectQueryData: status 0xc0000bc6");
}

TEST_SUITE_END();
