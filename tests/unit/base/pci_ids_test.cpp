// SPDX-License-Identifier: Apache-2.0
#include "base/pci_ids.h"

#include <doctest/doctest.h>

using namespace igpu;

TEST_SUITE_BEGIN("pci ids");

TEST_CASE("a device is named within its vendor only") {
  constexpr std::string_view list =
      "# a comment\n"
      "1002  Advanced Micro Devices\n"
      "\t56a0  not ours\n"
      "8086  Intel Corporation\n"
      "\t0001  something\n"
      "\t\t8086 56a0  a subsystem\n"
      "\t56a0  DG2 [Arc A770]\n"
      "\t9a49  TigerLake-LP GT2 [Iris Xe Graphics]\n"
      "8087  Intel Corp.\n"
      "\t9a60  not ours either\n";
  CHECK(pci_device_name(list, 0x8086, 0x56a0) == "DG2 [Arc A770]");
  CHECK(pci_device_name(list, 0x8086, 0x9a49) == "TigerLake-LP GT2 [Iris Xe Graphics]");
  CHECK(pci_device_name(list, 0x8086, 0x9a60).empty());
}

TEST_CASE("a list that is cut off, empty or no list at all names nothing") {
  CHECK(pci_device_name("", 0x8086, 0x56a0).empty());
  CHECK(pci_device_name("8086", 0x8086, 0x56a0).empty());
  CHECK(pci_device_name("8086  Intel\n\t56", 0x8086, 0x56a0).empty());
  CHECK(pci_device_name("8086  Intel\n\t56a0", 0x8086, 0x56a0).empty());
}

TEST_SUITE_END();
