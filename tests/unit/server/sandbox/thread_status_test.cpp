// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <atomic>
#include <thread>

#include "server/sandbox/privileges.h"

using namespace igpu::exporter;

TEST_SUITE_BEGIN("thread status");

TEST_CASE("the kernel's lines are parsed") {
  const auto status = parse_thread_status(
      "Name:\tx\nCapInh:\t0000000000000001\nCapPrm:\t0000004000080004\nCapEff:\t0000004000080000\n"
      "CapBnd:\t000001ffffffffff\nCapAmb:\t0000000000000002\nNoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t1\n");
  REQUIRE(status);
  CHECK(status->inheritable == 1);
  CHECK(status->permitted == 0x4000080004);
  CHECK(status->effective == 0x4000080000);
  CHECK(status->bounding == 0x1ffffffffff);
  CHECK(status->ambient == 2);
  CHECK(status->no_new_privs);
  CHECK(status->seccomp == 2);
}

TEST_CASE("a status with a missing line is rejected") {
  CHECK_FALSE(parse_thread_status(""));
  CHECK_FALSE(
      parse_thread_status("Name:\tx\nCapInh:\t0\nCapPrm:\t0\nCapEff:\t0\nCapBnd:\t0\nCapAmb:\t0\nNoNewPrivs:\t0\n"));
  CHECK_FALSE(parse_thread_status(
      "Name:\tx\nCapInh:\tz\nCapPrm:\t0\nCapEff:\t0\nCapBnd:\t0\nCapAmb:\t0\nNoNewPrivs:\t0\nSeccomp:\t0\n"));
}

TEST_CASE("every thread is listed") {
  std::thread([] {}).join();  // a sanitizer starts its own thread with the first of the program
  const std::size_t before = own_threads().size();
  REQUIRE(before >= 1);
  std::atomic<bool> end = false;
  std::thread other([&] { end.wait(false); });
  CHECK(own_threads().size() == before + 1);
  end = true;
  end.notify_all();
  other.join();
}

TEST_SUITE_END();
