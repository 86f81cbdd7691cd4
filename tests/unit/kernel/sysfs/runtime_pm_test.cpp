// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cerrno>
#include <string>

#include "kernel/sysfs/pci_files.h"
#include "support/test_machine.h"

TEST_SUITE_BEGIN("runtime_pm");

using namespace igpu;
using igpu::test::TestMachine;

namespace {

const std::string kPci = "devices/pci0000:00/0000:00:02.0";
const std::string kStatus = "sys/" + kPci + "/power/runtime_status";

}  // namespace

TEST_CASE("suspended and suspending count as asleep, everything else as awake") {
  TestMachine m;
  m.tree.write(kStatus, "active\n");
  RuntimePm power(m.sys, kPci);
  for (const char* awake : {"active\n", "resuming\n", "error\n"}) {
    CAPTURE(awake);
    m.tree.write(kStatus, awake);
    CHECK_FALSE(power.suspended().value_or(true));
  }
  for (const char* asleep : {"suspended\n", "suspending\n"}) {
    CAPTURE(asleep);
    m.tree.write(kStatus, asleep);
    CHECK(power.suspended().value_or(false));
  }
  CHECK(m.sys.opens() == 1);
}

TEST_CASE("a device without runtime power management is not asleep") {
  TestMachine m;
  const auto missing = RuntimePm(m.sys, kPci).suspended();
  REQUIRE(missing.is_absent());
  CHECK(missing.absent().os_error == ENOENT);
  m.tree.write(kStatus, "unsupported\n");
  const auto unsupported = RuntimePm(m.sys, kPci).suspended();
  REQUIRE(unsupported.is_absent());
  CHECK(unsupported.absent().reason == Reason::hardware);
}

TEST_CASE("a status that cannot be read is a failure only for that read") {
  TestMachine m;
  m.tree.write(kStatus, "suspended\n");
  RuntimePm power(m.sys, kPci);
  m.sys.fail_reading("runtime_status", EIO);
  CHECK(power.suspended().is_failure());
  m.sys.heal();
  CHECK(power.suspended().value_or(false));
}

TEST_CASE("an unknown status is neither asleep nor awake") {
  TestMachine m;
  m.tree.write(kStatus, "active\n");
  RuntimePm power(m.sys, kPci);
  for (const char* text : {"", "\n", "activ", "0\n"}) {
    CAPTURE(text);
    m.tree.write(kStatus, text);
    CHECK(power.suspended().is_failure());
  }
}

TEST_CASE("who uses the device and how long it stays awake afterwards") {
  using namespace std::chrono_literals;
  TestMachine m;
  CHECK(RuntimePm(m.sys, kPci).users().is_absent());  // CONFIG_PM_ADVANCED_DEBUG=n
  m.tree.write("sys/" + kPci + "/power/runtime_usage", "2\n");
  m.tree.write("sys/" + kPci + "/power/autosuspend_delay_ms", "10000\n");
  RuntimePm power(m.sys, kPci);
  CHECK(power.users().value_or(0) == 2);
  CHECK(power.autosuspend_delay() == 10s);
  m.tree.write("sys/" + kPci + "/power/autosuspend_delay_ms", "-1\n");
  CHECK(power.autosuspend_delay() == 0s);
  m.sys.fail_reading("autosuspend_delay_ms", EIO);  // what a device without autosuspend answers
  CHECK(power.autosuspend_delay() == 0s);
}

TEST_CASE("settings: whether the device may sleep, and lose its power then") {
  TestMachine m;
  const std::string pci = "sys/" + kPci;
  CHECK(may_suspend(m.sys, kPci).is_absent());
  CHECK(d3cold_allowed(m.sys, kPci).is_absent());
  m.tree.write(pci + "/power/control", "on\n");
  m.tree.write(pci + "/d3cold_allowed", "0\n");
  CHECK_FALSE(may_suspend(m.sys, kPci).value_or(true));
  CHECK_FALSE(d3cold_allowed(m.sys, kPci).value_or(true));
  m.tree.write(pci + "/power/control", "auto\n");
  m.tree.write(pci + "/d3cold_allowed", "1\n");
  CHECK(may_suspend(m.sys, kPci).value_or(false));
  CHECK(d3cold_allowed(m.sys, kPci).value_or(false));
  m.tree.write(pci + "/power/control", "sometimes\n");
  CHECK(may_suspend(m.sys, kPci).is_failure());
}

TEST_SUITE_END();
