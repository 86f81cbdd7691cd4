// SPDX-License-Identifier: Apache-2.0
#include "kernel/sysfs/host_stat.h"

#include <doctest/doctest.h>

using namespace igpu;

TEST_SUITE_BEGIN("host stat");

TEST_CASE("every processor by itself, without their sum and without guests") {
  const auto cpus = parse_host_stat(
      "cpu  30 0 60 900 3 0 9 0 5 0\n"
      "cpu0 10 1 20 300 1 2 3 4 5 6\n"
      "cpu3 20 0 40 600 2 0 6 0 0 0\n"
      "intr 12 0 0\nctxt 7\nbtime 1700000000\nprocesses 99\n");
  REQUIRE(cpus);
  REQUIRE(cpus->size() == 2);
  CHECK((*cpus)[0].cpu == 0);
  CHECK((*cpus)[0].ticks == std::array<std::uint64_t, kCpuModes>{10, 1, 20, 300, 1, 2, 3, 4});
  CHECK((*cpus)[1].cpu == 3);  // processors may be offline
  CHECK(kCpuModeNames[3] == "idle");
  CHECK(kCpuModeNames[7] == "steal");
}

TEST_CASE("a text of another shape is nothing") {
  for (const char* bad : {"", "cpu  1 2 3\n", "cpu0 1 2 3 4 5 6 7\n", "cpu0 1 2 3 4 5 6 7 x\n",
                          "cpux 1 2 3 4 5 6 7 8\n", "intr 5\n", "cpu0 1 2 3 4 5 6 7 99999999999999999999999\n"})
    CHECK_FALSE(parse_host_stat(bad));
}

TEST_SUITE_END();
