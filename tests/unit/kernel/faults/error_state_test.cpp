// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cerrno>
#include <string>

#include "kernel/faults/driver_state.h"
#include "support/test_machine.h"

TEST_SUITE_BEGIN("error_state");

using namespace igpu;
using igpu::test::TestMachine;

namespace {

const std::string kPci = "devices/pci0000:00/0000:00:01.0/0000:03:00.0";
const std::string kError = kPci + "/drm/card0/error";

Gpu gpu_of(Driver driver) {
  Gpu gpu;
  gpu.pci_path = kPci;
  gpu.card = "card0";
  gpu.driver = driver;
  return gpu;
}

}  // namespace

TEST_CASE("i915's error file says that nothing was captured, or begins with a hang") {
  TestMachine m;
  m.tree.write("sys/" + kError, "No error state collected\n");
  ErrorState state(m.sys, gpu_of(Driver::i915));
  CHECK_FALSE(state.captured().value_or(true));
  m.tree.write("sys/" + kError, "GPU HANG: ecode 12:1:85dffffb, in ffmpeg [4711]\n" + std::string(200000, 'x'));
  CHECK(state.captured().value_or(false));
  m.tree.write("sys/" + kError, "No error state collected\n");  // after a write to it
  CHECK_FALSE(state.captured().value_or(true));
}

TEST_CASE("i915: a file for root only, a kernel without capture, an empty file and a failure are not \"no hang\"") {
  TestMachine m;
  ErrorState state(m.sys, gpu_of(Driver::i915));
  CHECK(state.captured().is_absent());
  m.tree.write("sys/" + kError, "");
  CHECK(state.captured().is_absent());
  m.sys.refuse_opening("error", EACCES);
  const auto refused = state.captured();
  REQUIRE(refused.is_absent());
  CHECK(refused.absent() == Absent{Reason::permission, EACCES});
  m.sys.heal();
  m.sys.fail_reading("error", EIO);
  CHECK(state.captured().is_failure());
}

TEST_CASE("xe: a devcoredump of this device, found at the device or in the class") {
  TestMachine m;
  m.tree.make_directory("sys/" + kPci);
  ErrorState state(m.sys, gpu_of(Driver::xe));
  CHECK_FALSE(state.captured().value_or(true));  // no class yet: no dump

  // another device's dump, and a file that is no dump
  m.tree.make_directory("sys/devices/pci0000:00/0000:00:14.3");
  m.tree.write("sys/class/devcoredump/disabled", "0\n");
  m.tree.make_directory("sys/devices/virtual/devcoredump/devcd1");
  m.tree.link("sys/devices/virtual/devcoredump/devcd1/failing_device", "../../../pci0000:00/0000:00:14.3");
  m.tree.link("sys/class/devcoredump/devcd1", "../../devices/virtual/devcoredump/devcd1");
  CHECK_FALSE(state.captured().value_or(true));

  m.tree.make_directory("sys/devices/virtual/devcoredump/devcd2");
  m.tree.link("sys/devices/virtual/devcoredump/devcd2/failing_device", "../../../pci0000:00/0000:00:01.0/0000:03:00.0");
  m.tree.link("sys/class/devcoredump/devcd2", "../../devices/virtual/devcoredump/devcd2");
  CHECK(state.captured().value_or(false));
  m.tree.remove("sys/class/devcoredump/devcd2");
  CHECK_FALSE(state.captured().value_or(true));
  m.tree.make_directory("sys/" + kPci + "/devcoredump");
  CHECK(state.captured().value_or(false));
}

TEST_SUITE_END();
