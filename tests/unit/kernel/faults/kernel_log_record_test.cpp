// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "kernel/faults/kernel_records.h"

using namespace igpu;
using namespace std::chrono_literals;

TEST_SUITE_BEGIN("kernel log record");

TEST_CASE("a record of a driver, with its device") {
  const auto record = parse_kernel_log_record(
      "6,1234,987654321,-;xe 0000:03:00.0: [drm] GT0: reset started\n SUBSYSTEM=pci\n DEVICE=+pci:0000:03:00.0\n");
  REQUIRE(record);
  CHECK(record->facility == 0);
  CHECK(record->sequence == 1234);
  CHECK(record->time == 987654321us);
  CHECK(record->text == "xe 0000:03:00.0: [drm] GT0: reset started");
  CHECK(record->pci_device == "0000:03:00.0");
}

TEST_CASE("a record that a program wrote has a facility; fields that kernels add are skipped") {
  const auto record = parse_kernel_log_record("12,9,1,c,caller=T817;hello; world\n");
  REQUIRE(record);
  CHECK(record->facility == 1);
  CHECK(record->text == "hello; world");
  CHECK(record->pci_device.empty());
}

TEST_CASE("what is no record is nothing") {
  for (const char* bad : {"", ";", "6,1,2", "x,1,2,-;a", "6,x,2,-;a", "6,1,x,-;a", "6,1;a",
                          "6,1,99999999999999999999,-;a", "-6,1,2,-;a"}) {
    INFO(bad);
    CHECK_FALSE(parse_kernel_log_record(bad));
  }
  CHECK_FALSE(parse_kernel_log_record("6,1,18446744073709551615,-;a"));  // later than a clock can show
}

TEST_CASE("escapes are bytes again; what only looks like one stays") {
  CHECK(unescaped_log_text("a\\x0a\\x5cx") == "a\n\\x");
  CHECK(unescaped_log_text("\\x4") == "\\x4");
  CHECK(unescaped_log_text("\\xzz\\") == "\\xzz\\");
}

TEST_SUITE_END();
