// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cerrno>
#include <string>

#include "collector/collectors.h"
#include "support/test_machine.h"

TEST_SUITE_BEGIN("pcie");

using namespace igpu;
using igpu::test::CollectorRun;
using igpu::test::TestMachine;

TEST_CASE("an Arc card beside an integrated GPU: the slot's link for one, none for the other") {
  TestMachine m("multigpu-igpu-arc-links");
  const std::string slot = "sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/";
  m.tree.write(slot + "current_link_speed", "16.0 GT/s PCIe\n");
  m.tree.write(slot + "max_link_speed", "16.0 GT/s PCIe\n");
  m.tree.write(slot + "current_link_width", "8\n");
  m.tree.write(slot + "max_link_width", "16\n");
  const std::string board = "sys/devices/pci0000:00/0000:00:01.0/";
  m.tree.write(board + "max_link_speed", "32.0 GT/s PCIe\n");
  m.tree.write(board + "max_link_width", "16\n");
  const std::string inside = slot + "0000:02:01.0/0000:03:00.0/";
  m.tree.write(inside + "current_link_speed", "2.5 GT/s PCIe\n");
  m.tree.write(inside + "current_link_width", "1\n");
  const auto gpus = m.gpus();
  REQUIRE(gpus.size() == 2);

  CollectorRun<pcie_collector> card(m, gpus[1]);
  card.collect();
  CHECK(card.value("intel_gpu_pcie_link_speed_transfers_per_second",
                   {{"device", "0000:03:00.0"}, {"bound", "current"}}) == 16e9);
  CHECK(card.value("intel_gpu_pcie_link_speed_transfers_per_second", {{"bound", "max"}}) == 16e9);
  CHECK(card.value("intel_gpu_pcie_link_width_lanes", {{"bound", "current"}}) == 8);
  CHECK(card.value("intel_gpu_pcie_link_width_lanes", {{"bound", "max"}}) == 16);
  CHECK(card.value("intel_gpu_pcie_slot_speed_transfers_per_second", {{"device", "0000:03:00.0"}}) == 32e9);
  CHECK(card.value("intel_gpu_pcie_slot_width_lanes") == 16);
  CHECK(card.available("pcie_link"));

  CollectorRun<pcie_collector> integrated(m, gpus[0]);
  integrated.collect();
  CHECK(integrated.count("intel_gpu_pcie_link_speed_transfers_per_second") == 0);
  CHECK(integrated.count("intel_gpu_pcie_link_width_lanes") == 0);
  CHECK(integrated.missing("pcie_link") == Reason::hardware);
  CHECK(integrated.failures() == 0);

  m.sys.fail_reading("0000:01:00.0/max_link_width", EIO);
  card.collect();
  CHECK(card.failures() == 1);
  CHECK(card.count("intel_gpu_pcie_link_width_lanes") == 1);
  m.sys.heal();
  card.collect();
  CHECK(card.count("intel_gpu_pcie_link_width_lanes") == 2);
}

TEST_SUITE_END();
