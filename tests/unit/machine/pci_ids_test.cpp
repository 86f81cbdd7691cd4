// SPDX-License-Identifier: Apache-2.0
#include "machine/pci_ids.h"

#include <doctest/doctest.h>

using namespace igpu;

namespace {

std::string pci_device_name(std::string_view list, std::uint16_t vendor, std::uint16_t device) {
  PciDeviceSearch search(vendor, device);
  if (search.add(list)) search.end();
  return search.name();
}

}  // namespace

TEST_SUITE_BEGIN("pci ids");

TEST_CASE("a device name is found only under its own vendor") {
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

TEST_CASE("a list that is truncated, empty or not a list names nothing") {
  CHECK(pci_device_name("", 0x8086, 0x56a0).empty());
  CHECK(pci_device_name("8086", 0x8086, 0x56a0).empty());
  CHECK(pci_device_name("8086  Intel\n\t56", 0x8086, 0x56a0).empty());
  CHECK(pci_device_name("8086  Intel\n\t56a0", 0x8086, 0x56a0).empty());
}

TEST_CASE("a list read in chunks of any size names what the whole list names") {
  const std::string list =
      "# a comment\n"
      "1002  Advanced Micro Devices\n"
      "\t56a0  not ours\n"
      "8086  Intel Corporation\n"
      "\t0001  " +
      std::string(5000, 'x') +
      "\n"
      "\t56a0  DG2 [Arc A770]\n"
      "8087  Intel Corp.\n"
      "\t9a60  not ours either\n"
      "8088  cut\n"
      "\t0002  without a line break";
  const auto in_pieces = [&](std::size_t size, std::uint16_t vendor, std::uint16_t device) {
    PciDeviceSearch search(vendor, device);
    for (std::size_t at = 0; at < list.size(); at += size) {
      if (!search.add(std::string_view(list).substr(at, size))) return search.name();
    }
    search.end();
    return search.name();
  };
  for (std::size_t size = 1; size <= list.size(); size = size < 100 ? size + 1 : size * 2) {
    CAPTURE(size);
    CHECK(in_pieces(size, 0x8086, 0x56a0) == "DG2 [Arc A770]");
    CHECK(in_pieces(size, 0x8086, 0x9a60).empty());
    CHECK(in_pieces(size, 0x8088, 0x0002) == "without a line break");
  }
}

TEST_SUITE_END();
