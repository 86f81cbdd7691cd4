// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <chrono>
#include <future>
#include <thread>

#include "platform/thread.h"

using namespace igpu::exporter;
using namespace std::chrono_literals;

TEST_SUITE_BEGIN("alarm");

TEST_CASE("an alarm that is set expires, and a wait that begins later finds it expired") {
  Alarm alarm;
  const auto begin = std::chrono::steady_clock::now();
  alarm.set(20ms);
  alarm.wait();
  CHECK(std::chrono::steady_clock::now() - begin >= 19ms);
  alarm.set(1ms);
  std::this_thread::sleep_for(20ms);
  alarm.wait();
}

TEST_CASE("an alarm that is cancelled in time does not expire; the last time that was set counts") {
  Alarm alarm;
  alarm.set(1h);
  alarm.cancel();
  auto expired = std::async(std::launch::async, [&] { alarm.wait(); });
  alarm.set(1h);
  CHECK(expired.wait_for(30ms) == std::future_status::timeout);
  alarm.set(1ms);
  CHECK(expired.wait_for(60s) == std::future_status::ready);
}

TEST_CASE("cancelling an alarm that has expired silences it, too") {
  Alarm alarm;
  alarm.set(1ms);
  std::this_thread::sleep_for(20ms);
  alarm.cancel();
  auto expired = std::async(std::launch::async, [&] { alarm.wait(); });
  CHECK(expired.wait_for(30ms) == std::future_status::timeout);
  alarm.set(1ms);
  CHECK(expired.wait_for(60s) == std::future_status::ready);
}

TEST_SUITE_END();
