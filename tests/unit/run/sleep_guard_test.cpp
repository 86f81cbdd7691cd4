// SPDX-License-Identifier: Apache-2.0
// An i915 card goes to sleep ten seconds after its last use. What is read of it counts as use.
#include <doctest/doctest.h>

#include <system_error>

#include "run/gpu_unit.h"

using namespace igpu;
using namespace std::chrono_literals;

namespace {

SleepGuard::Observation awake(std::uint64_t users) { return {false, users, 10s}; }
SleepGuard::Observation suspended() { return {true, Absent{}, 0s}; }

}  // namespace

TEST_SUITE_BEGIN("sleep_guard");

TEST_CASE("a GPU in use is read, a suspended one is not") {
  SleepGuard guard;
  for (int second = 0; second < 60; ++second) CHECK(guard.judge(awake(1), second * 1s) == GpuPower::awake);
  CHECK(guard.judge(suspended(), 60s) == GpuPower::suspended);
  CHECK(guard.judge(awake(3), 61s) == GpuPower::awake);
}

TEST_CASE("a GPU that is no longer used is not read until it suspends, however often it is scraped") {
  SleepGuard guard;
  CHECK(guard.judge(awake(1), 0s) == GpuPower::awake);
  for (int second = 1; second <= 10; ++second)  // perhaps only between two files
    CHECK(guard.judge(awake(0), second * 1s) == GpuPower::awake);
  for (int second = 11; second <= 20; ++second) CHECK(guard.judge(awake(0), second * 1s) == GpuPower::unused);
  CHECK(guard.judge(suspended(), 21s) == GpuPower::suspended);
  CHECK(guard.judge(awake(0), 100s) == GpuPower::awake);
}

TEST_CASE("an unused GPU is still read for some seconds: its first read does not make it unused") {
  SleepGuard guard;
  for (int i = 0; i < 50; ++i) CHECK(guard.judge(awake(0), i * 200ms) == GpuPower::awake);
}

TEST_CASE("a GPU that is idle now and then, but in use, is read each time") {
  SleepGuard guard;
  for (unsigned second = 0; second < 60; ++second)
    CHECK(guard.judge(awake(second % 2), second * 1s) == GpuPower::awake);
}

TEST_CASE("scrapes further apart than the idle timer are always read") {
  SleepGuard guard;
  for (int second = 0; second < 600; second += 15) CHECK(guard.judge(awake(0), second * 1s) == GpuPower::awake);
}

TEST_CASE("a GPU kept awake by something else is read again after the idle timer") {
  SleepGuard guard;
  int left_alone = 0;
  for (int second = 0; second < 300; second += 2) left_alone += guard.judge(awake(0), second * 1s) == GpuPower::unused;
  CHECK(left_alone == 5);
  CHECK(guard.judge(awake(1), 300s) == GpuPower::awake);
  CHECK(guard.judge(awake(0), 301s) == GpuPower::awake);
  for (int second = 302; second < 311; ++second) CHECK(guard.judge(awake(0), second * 1s) == GpuPower::awake);
  CHECK(guard.judge(awake(0), 311s) == GpuPower::unused);  // it may sleep this time
}

TEST_CASE("without an idle timer, or without usage information from the kernel, it is read") {
  SleepGuard guard;
  for (int second = 0; second < 30; ++second) {
    CHECK(guard.judge({false, std::uint64_t{0}, 0s}, second * 1s) == GpuPower::awake);
    CHECK(guard.judge({false, Absent{Reason::kernel}, 0s}, second * 1s) == GpuPower::awake);
    CHECK(guard.judge({Absent{Reason::hardware}, Absent{Reason::kernel}, 0s}, second * 1s) == GpuPower::awake);
  }
}

TEST_CASE("a status that cannot be read once keeps its last value") {
  const Failure broken{std::make_error_code(std::errc::io_error), "runtime_status"};
  SleepGuard guard;
  CHECK(guard.judge({broken, Absent{Reason::kernel}, 0s}, 0s) == GpuPower::awake);
  CHECK(guard.judge(suspended(), 1s) == GpuPower::suspended);
  CHECK(guard.judge({broken, Absent{Reason::kernel}, 0s}, 2s) == GpuPower::suspended);
  CHECK(guard.judge(awake(1), 3s) == GpuPower::awake);
  CHECK(guard.judge({broken, Absent{Reason::kernel}, 0s}, 4s) == GpuPower::awake);
}

TEST_SUITE_END();
