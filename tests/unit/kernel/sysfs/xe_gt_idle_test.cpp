// SPDX-License-Identifier: Apache-2.0

#include <doctest/doctest.h>

#include "kernel/sysfs/gt_sysfs.h"
#include "support/machine_tree.h"

using namespace igpu;
using namespace igpu::test;

namespace {

std::vector<unsigned> xe_gts(const Directory& sys, std::string_view pci_path) {
  std::vector<unsigned> numbers;
  for (const GtFolder& gt : xe_gt_folders(sys, pci_path)) numbers.push_back(gt.number);
  return numbers;
}

}  // namespace

TEST_SUITE_BEGIN("xe gt idle");

TEST_CASE("GTs are numbered across the tiles of a device") {
  MachineTree tree;
  const std::string pci = "devices/pci0000:00/0000:03:00.0";
  tree.write("sys/" + pci + "/tile1/gt2/gtidle/idle_residency_ms", "30\n");
  tree.write("sys/" + pci + "/tile0/gt1/gtidle/idle_residency_ms", "20\n");
  tree.write("sys/" + pci + "/tile0/gt0/gtidle/idle_residency_ms", "10\n");
  tree.write("sys/" + pci + "/tile0/memory/freq0/max_freq", "1\n");
  const auto sys = open_root(tree.path("sys"));
  CHECK(xe_gts(*sys, pci) == std::vector<unsigned>{0, 1, 2});

  XeGtIdle idle(*sys, pci);
  const auto& first = idle.read();
  REQUIRE(first.size() == 3);
  CHECK(first[2].gt == 2);
  CHECK(*first[2].milliseconds == 30);
  tree.write("sys/" + pci + "/tile0/gt0/gtidle/idle_residency_ms", "1234567890123\n");
  tree.write("sys/" + pci + "/tile0/gt1/gtidle/idle_residency_ms", "soon\n");
  CHECK(*idle.read()[0].milliseconds == 1234567890123);
  CHECK(idle.read()[1].milliseconds.is_absent());
}

TEST_CASE("a GT number that two tiles have is one GT") {
  MachineTree tree;
  const std::string pci = "devices/pci0000:00/0000:03:00.0";
  for (const char* gt : {"/tile0/gt0", "/tile1/gt0", "/tile1/gt1"})
    tree.write("sys/" + pci + gt + "/gtidle/idle_residency_ms", "10\n");
  CHECK(xe_gts(*open_root(tree.path("sys")), pci) == std::vector<unsigned>{0, 1});
}

TEST_CASE("virtual functions have GTs, but no residency") {
  MachineTree tree;
  tree.write("sys/devices/pci0000:00/0000:03:00.1/tile0/gt0/freq0/rp0_freq", "2400\n");
  const auto sys = open_root(tree.path("sys"));
  CHECK(xe_gts(*sys, "devices/pci0000:00/0000:03:00.1") == std::vector<unsigned>{0});
  CHECK(XeGtIdle(*sys, "devices/pci0000:00/0000:03:00.1").read().empty());
  CHECK(xe_gts(*sys, "devices/nothing").empty());
}
