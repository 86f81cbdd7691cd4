// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "kernel/pmu/pmu_files.h"
#include "support/machine_tree.h"

using namespace igpu;
using namespace igpu::test;

TEST_SUITE_BEGIN("collected pmus");

TEST_CASE("PMUs of GPUs, RAPL and memory controllers are collected") {
  for (const char* name : {"i915", "i915_0000_03_00.0", "xe_0000_00_02.0", "power", "uncore_imc", "uncore_imc_0",
                           "uncore_imc_free_running_1"}) {
    CAPTURE(name);
    CHECK(is_collected_pmu(name));
  }
}

TEST_CASE("others are not, above all those that reach into processes") {
  for (const char* name : {"uprobe", "kprobe", "tracepoint", "software", "breakpoint", "cpu", "msr", "intel_pt",
                           "intel_bts", "xe", "i9150", "power_core", "uncore_cha_0", ""}) {
    CAPTURE(name);
    CHECK_FALSE(is_collected_pmu(name));
  }
}

TEST_CASE("the number of a PMU is read when it is needed: drivers get another one when they are bound again") {
  MachineTree tree;
  const std::string pmus = "sys/bus/event_source/devices/";
  tree.write(pmus + "uprobe/type", "8\n");
  tree.write(pmus + "i915/type", "30\n");
  tree.write(pmus + "xe_0000_03_00.0/type", "no number\n");
  const auto sys = open_root(tree.path("sys"));
  CHECK(is_type_of_collected_pmu(*sys, 30));
  CHECK_FALSE(is_type_of_collected_pmu(*sys, 8));
  CHECK_FALSE(is_type_of_collected_pmu(*sys, 0));
  tree.write(pmus + "i915/type", "31\n");
  CHECK(is_type_of_collected_pmu(*sys, 31));
  CHECK_FALSE(is_type_of_collected_pmu(*sys, 30));
}

TEST_CASE("a machine without PMUs has none to collect") {
  MachineTree tree;
  tree.make_directory("sys");
  CHECK_FALSE(is_type_of_collected_pmu(*open_root(tree.path("sys")), 0));
}

TEST_SUITE_END();
