// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cerrno>
#include <string>

#include "kernel/sysfs/pci_files.h"
#include "support/test_machine.h"

TEST_SUITE_BEGIN("pcie_link");

using namespace igpu;
using igpu::test::TestMachine;

namespace {

const std::string kHost = "devices/pci0000:00/";
const std::string kRoot = kHost + "0000:00:01.0";
const std::string kUpper = kRoot + "/0000:01:00.0";
const std::string kLower = kUpper + "/0000:02:01.0";
const std::string kGpu = kLower + "/0000:03:00.0";

struct Link {
  std::string current_speed, max_speed, current_width, max_width;
};
const Link kInside{"2.5 GT/s PCIe\n", "2.5 GT/s PCIe\n", "1\n", "1\n"};
const Link kSlot{"8.0 GT/s PCIe\n", "16.0 GT/s PCIe\n", "4\n", "8\n"};

void add(TestMachine& m, const std::string& path, const Link& link, const char* vendor = "0x8086\n") {
  m.tree.write("sys/" + path + "/vendor", vendor);
  m.tree.write("sys/" + path + "/current_link_speed", link.current_speed);
  m.tree.write("sys/" + path + "/max_link_speed", link.max_speed);
  m.tree.write("sys/" + path + "/current_link_width", link.current_width);
  m.tree.write("sys/" + path + "/max_link_width", link.max_width);
}

Gpu card_at(const std::string& path) {
  Gpu gpu;
  gpu.pci_path = path;
  gpu.kind = GpuKind::discrete;
  return gpu;
}

}  // namespace

TEST_CASE("an Arc card: the link is that of the upper end of the switch on the card") {
  TestMachine m;
  add(m, kRoot, {"8.0 GT/s PCIe\n", "32.0 GT/s PCIe\n", "4\n", "16\n"});
  add(m, kUpper, kSlot);
  add(m, kLower, kInside);
  add(m, kGpu, kInside);
  PcieLinkFiles link(m.sys, card_at(kGpu));
  CHECK(link.port() == kUpper);
  CHECK(link.current_speed().value_or({}) == TransfersPerSecond{8e9});
  CHECK(link.max_speed().value_or({}) == TransfersPerSecond{16e9});
  CHECK(link.current_width().value_or({}) == Lanes{4});
  CHECK(link.max_width().value_or({}) == Lanes{8});
}

TEST_CASE("captured cards: root port, two bridges, GPU, on Intel and AMD boards alike") {
  for (const char* machine : {"a380-i915", "a380-xe-k7", "b580-xe-many-temps"}) {
    CAPTURE(machine);
    TestMachine m(machine);
    const auto gpus = m.gpus();
    REQUIRE(gpus.size() == 1);
    const std::string& path = gpus[0].pci_path;
    const std::string above = path.substr(0, path.rfind('/'));
    PcieLinkFiles link(m.sys, gpus[0]);
    CHECK(link.port() == above.substr(0, above.rfind('/')));
    // These captures do not hold the bridges' files; the inside of the switch (2.5 GT/s x1) must not be used instead.
    CHECK(link.current_speed().is_absent());
    CHECK(link.max_width().is_absent());
  }
}

TEST_CASE("a switch of another maker is the board's: the slot is below it") {
  TestMachine m;
  const std::string board_upper = kRoot + "/0000:01:00.0", board_lower = board_upper + "/0000:02:08.0";
  const std::string gpu = board_lower + "/0000:03:00.0";
  add(m, kRoot, kSlot);
  add(m, board_upper, kSlot, "0x10b5\n");
  add(m, board_lower, kSlot, "0x10b5\n");
  add(m, gpu, kSlot);
  CHECK(PcieLinkFiles(m.sys, card_at(gpu)).port() == gpu);
  // the card's own switch behind the board's
  const std::string deep = board_lower + "/0000:03:00.0/0000:04:01.0/0000:05:00.0";
  add(m, board_lower + "/0000:03:00.0", kSlot);
  add(m, board_lower + "/0000:03:00.0/0000:04:01.0", kInside);
  add(m, deep, kInside);
  CHECK(PcieLinkFiles(m.sys, card_at(deep)).port() == board_lower + "/0000:03:00.0");
}

TEST_CASE("a card without a switch, right behind the root port, has its own link") {
  TestMachine m;
  const std::string gpu = kRoot + "/0000:01:00.0";
  add(m, kRoot, kSlot);
  add(m, gpu, kSlot);
  PcieLinkFiles link(m.sys, card_at(gpu));
  CHECK(link.port() == gpu);
  CHECK(link.current_width().value_or({}) == Lanes{4});
}

TEST_CASE(
    "in a domain of its own behind a volume management device, the bridges of the domain in front are not the card's") {
  TestMachine m;
  const std::string device = "devices/pci0000:00/0000:00:0e.0";
  const std::string port = device + "/pci10000:e0/10000:e0:06.0";
  const std::string gpu = port + "/10000:e1:00.0";
  add(m, device, kInside);
  add(m, port, {"8.0 GT/s PCIe\n", "32.0 GT/s PCIe\n", "4\n", "16\n"});
  add(m, gpu, kSlot);
  CHECK(PcieLinkFiles::port_of(m.sys, gpu) == gpu);
}

TEST_CASE("passed through to a virtual machine, only the inside of the switch is visible: no link is reported") {
  TestMachine m;
  const std::string gpu = kRoot + "/0000:01:00.0";
  add(m, kRoot, kSlot);
  add(m, gpu, kInside);
  PcieLinkFiles link(m.sys, card_at(gpu));
  CHECK(m.sys.reads() == 0);  // reading would wake the card
  for (const Reading<Lanes>& width : {link.current_width(), link.max_width()}) {
    REQUIRE(width.is_absent());
    CHECK(width.absent().reason == Reason::hardware);
  }
  CHECK(link.current_speed().is_absent());
}

TEST_CASE("integrated GPUs have no link, whatever their files contain") {
  TestMachine m("cometlake-i915");
  const auto gpus = m.gpus();
  REQUIRE(gpus.size() == 1);
  PcieLinkFiles link(m.sys, gpus[0]);
  CHECK(link.port().empty());
  REQUIRE(link.current_speed().is_absent());
  CHECK(link.current_speed().absent().reason == Reason::hardware);
  CHECK(link.max_width().is_absent());
}

TEST_CASE("an unknown or out-of-range link is absent; old kernels' spellings are understood") {
  TestMachine m;
  struct Case {
    const char* text;
    double expected;
  };
  for (const Case& link_case :
       {Case{"Unknown\n", 0}, Case{"Unknown speed\n", 0}, Case{"-8 GT/s\n", 0}, Case{"0 GT/s\n", 0},
        Case{"8 GT/s\n", 8e9}, Case{"2.5 GT/s PCIe\n", 2.5e9}, Case{"64.0 GT/s PCIe\n", 64e9}}) {
    const char* text = link_case.text;
    const double expected = link_case.expected;
    CAPTURE(text);
    add(m, kUpper, {text, text, "255\n", "0\n"});
    PcieLinkFiles link(m.sys, card_at(kGpu));
    CHECK(link.current_speed().value_or({}) == TransfersPerSecond{expected});
    CHECK(link.current_speed().is_absent() == (expected == 0));
    CHECK(link.current_width().is_absent());
    CHECK(link.max_width().is_absent());
  }
}

TEST_CASE("a link that cannot be read is a failure, and recovers") {
  TestMachine m;
  add(m, kUpper, kSlot);
  PcieLinkFiles link(m.sys, card_at(kGpu));
  m.sys.fail_reading("current_link_speed", EIO);
  CHECK(link.current_speed().is_failure());
  CHECK(link.current_width());
  m.sys.heal();
  CHECK(link.current_speed());
}

TEST_SUITE_END();
