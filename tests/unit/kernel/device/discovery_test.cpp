// SPDX-License-Identifier: Apache-2.0
#include "kernel/device/discovery.h"

#include <doctest/doctest.h>

#include "support/gpu_tree.h"
#include "support/test_machine.h"

using namespace igpu;
using namespace igpu::test;

TEST_SUITE_BEGIN("discovery");

TEST_CASE("an integrated GPU and a card behind its switch, each with card and render node of its own numbering") {
  TestMachine machine("multigpu-igpu-arc-links");
  Discovery discovery(machine.machine(), {});
  const auto& gpus = discovery.discover();
  REQUIRE(gpus.size() == 2);
  CHECK(gpus[0].address == "0000:00:02.0");
  CHECK(gpus[0].card == "card0");
  CHECK(gpus[0].kind == GpuKind::integrated);
  CHECK(gpus[0].driver == Driver::i915);
  CHECK(gpus[1].address == "0000:03:00.0");
  CHECK(gpus[1].card == "card1");
  CHECK(gpus[1].render_node == "renderD129");
  CHECK(gpus[1].kind == GpuKind::discrete);
  CHECK(gpus[1].pci_path == "devices/pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:01.0/0000:03:00.0");
}

TEST_CASE("every captured machine shows exactly its GPUs, although connectors are called card1-DP-1") {
  struct Expected {
    const char *machine, *address, *card;
    Driver driver;
    GpuKind kind;
  };
  for (const Expected& e :
       {Expected{"a380-i915", "0000:0b:00.0", "card1", Driver::i915, GpuKind::discrete},
        Expected{"a380-xe-k7", "0000:08:00.0", "card0", Driver::xe, GpuKind::discrete},
        Expected{"b580-xe-many-temps", "0000:09:00.0", "card1", Driver::xe, GpuKind::discrete},
        Expected{"cometlake-i915", "0000:00:02.0", "card0", Driver::i915, GpuKind::integrated},
        Expected{"kabylake-r-i915-connectors", "0000:00:02.0", "card1", Driver::i915, GpuKind::integrated},
        Expected{"lunarlake-xe-claw8", "0000:00:02.0", "card0", Driver::xe, GpuKind::integrated},
        Expected{"meteorlake-i915-multigt", "0000:00:02.0", "card1", Driver::i915, GpuKind::integrated}}) {
    CAPTURE(e.machine);
    TestMachine machine(e.machine);
    Discovery discovery(machine.machine(), {});
    const auto& gpus = discovery.discover();
    REQUIRE(gpus.size() == 1);
    CHECK(gpus[0].address == e.address);
    CHECK(gpus[0].card == e.card);
    CHECK(gpus[0].driver == e.driver);
    CHECK(gpus[0].kind == e.kind);
  }
}

TEST_CASE("GPUs of other vendors and Intel GPUs without i915 or xe are ignored") {
  TestMachine machine;
  add_gpu(machine.tree, {.pci_path = "pci0000:00/0000:00:01.0/0000:01:00.0",
                         .driver = "amdgpu",
                         .card = "card0",
                         .render_node = "renderD128"});
  machine.tree.write("sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/vendor", "0x1002\n");
  add_gpu(machine.tree, {.pci_path = "pci0000:00/0000:00:02.0", .driver = "vfio-pci", .card = "", .render_node = ""});
  add_gpu(machine.tree,
          {.pci_path = "pci0000:00/0000:00:05.0", .driver = "virtio-pci", .card = "card1", .render_node = ""});
  Discovery discovery(machine.machine(), {});
  CHECK(discovery.discover().empty());
}

TEST_CASE("what has DRM nodes is listed whatever its vendor and driver, by card, but not its connectors") {
  TestMachine machine;
  add_gpu(machine.tree, {.pci_path = "pci0000:00/0000:00:02.0",
                         .driver = "i915",
                         .card = "card1",
                         .render_node = "renderD128",
                         .device = "0x7d55"});
  add_gpu(machine.tree, {.pci_path = "pci0000:00/0000:01:00.0",
                         .driver = "nouveau",
                         .card = "card0",
                         .render_node = "renderD129",
                         .device = "0x2204"});
  machine.tree.write("sys/devices/pci0000:00/0000:01:00.0/vendor", "0x10de\n");
  machine.tree.link("sys/class/drm/card1-HDMI-A-1", "../../devices/pci0000:00/0000:00:02.0/drm/card1/card1-HDMI-A-1");
  add_gpu(machine.tree, {.pci_path = "pci0000:00/0000:02:00.0", .driver = "i915", .card = "card2", .render_node = ""});
  machine.tree.remove("sys/devices/pci0000:00/0000:02:00.0/vendor");  // it is being removed
  const std::vector<DisplayDevice> devices = display_devices(machine.machine().sys);
  REQUIRE(devices.size() == 2);
  CHECK(devices[0].address == "0000:01:00.0");
  CHECK(devices[0].pci_path == "devices/pci0000:00/0000:01:00.0");
  CHECK(devices[0].vendor == 0x10de);
  CHECK(devices[0].device_id == 0x2204);
  CHECK(devices[0].card == "card0");
  CHECK(devices[0].render_node == "renderD129");
  CHECK(devices[1].card == "card1");
  CHECK(devices[1].vendor == 0x8086);
  CHECK(devices[1].device_id == 0x7d55);
  CHECK(display_devices(TestMachine().machine().sys).empty());
}

TEST_CASE("a card that is being removed and has no device id any more is not taken for an integrated GPU") {
  TestMachine machine;
  const GpuSpec card{.pci_path = "pci0000:00/0000:03:00.0",
                     .driver = "i915",
                     .card = "card1",
                     .render_node = "renderD129",
                     .device = "0x56a0"};
  add_gpu(machine.tree, card);
  CHECK(Discovery(machine.machine(), {}).discover().at(0).kind == GpuKind::discrete);
  machine.tree.remove("sys/devices/" + card.pci_path + "/device");
  CHECK(Discovery(machine.machine(), {}).discover().at(0).kind == GpuKind::discrete);
}

TEST_CASE("a rebound GPU has a new binding; otherwise the binding stays") {
  TestMachine machine;
  const GpuSpec gpu{
      .pci_path = "pci0000:00/0000:00:02.0", .driver = "i915", .card = "card0", .render_node = "renderD128"};
  add_gpu(machine.tree, gpu);
  Discovery discovery(machine.machine(), {});
  const auto first = discovery.discover().at(0).binding;
  CHECK(discovery.discover().at(0).binding == first);
  // The new directory is made before the old one is gone, so that the file system cannot hand out the same inode.
  machine.tree.move("sys/devices/pci0000:00/0000:00:02.0/drm", "sys/old");
  remove_gpu(machine.tree, gpu.pci_path);
  CHECK(discovery.discover().empty());
  add_gpu(machine.tree, gpu);
  CHECK(discovery.discover().at(0).binding != first);
}

TEST_CASE("--gpu takes a PCI address, a card or a render node") {
  for (const char* wanted : {"0000:03:00.0", "card1", "renderD129"}) {
    CAPTURE(wanted);
    TestMachine machine("multigpu-igpu-arc-links");
    Discovery discovery(machine.machine(), {wanted});
    REQUIRE(discovery.discover().size() == 1);
    CHECK(discovery.discover()[0].address == "0000:03:00.0");
  }
}

TEST_CASE("GPUs that are all selected by address are followed without a list of the DRM devices") {
  TestMachine machine;
  const GpuSpec gpu{
      .pci_path = "pci0000:00/0000:00:02.0", .driver = "i915", .card = "card0", .render_node = "renderD128"};
  add_gpu(machine.tree, gpu);
  Discovery discovery(machine.machine(), {"0000:00:02.0"});
  const auto first = discovery.discover().at(0).binding;
  machine.sys.fail_reading("class/drm", EIO);
  CHECK(discovery.discover().at(0).binding == first);
  CHECK_FALSE(discovery.failure());
  machine.sys.heal();
  // The new directory is made before the old one is gone, so that the file system cannot hand out the same inode.
  machine.tree.move("sys/devices/pci0000:00/0000:00:02.0/drm", "sys/old");
  remove_gpu(machine.tree, gpu.pci_path);
  CHECK(discovery.discover().empty());
  add_gpu(machine.tree, gpu);
  REQUIRE(discovery.discover().size() == 1);
  CHECK(discovery.discover()[0].binding != first);
}

TEST_CASE("a card is discrete behind any bridge; a GPU on the root bus is integrated") {
  CHECK(gpu_kind("devices/pci0000:00/0000:00:02.0", 0x9a49) == GpuKind::integrated);
  CHECK(gpu_kind("devices/pci0000:00/0000:00:02.0", 0x7d55) == GpuKind::integrated);
  CHECK(gpu_kind("devices/pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:01.0/0000:03:00.0", 0x56a0) ==
        GpuKind::discrete);
  CHECK(gpu_kind("devices/pci0000:00/0000:00:05.0", 0x56a0) ==
        GpuKind::discrete);  // handed through to a virtual machine
  CHECK(gpu_kind("devices/pci0000:00/0000:00:05.0", 0xe20b) == GpuKind::discrete);
  CHECK(gpu_kind("devices/pci0000:00/0000:00:1c.0/0000:01:00.0", 0x9b41) ==
        GpuKind::integrated);  // likewise, behind a port
  CHECK(gpu_kind("devices/pci0000:00/0000:00:1c.0/0000:01:00.0", 0xffff) == GpuKind::discrete);  // not made yet
  CHECK(gpu_kind("devices/pci0000:00/0000:00:02.0", 0xffff) == GpuKind::integrated);
}

TEST_CASE("virtual functions: on their host by physfn; inside a machine by what only they lack") {
  TestMachine m;
  const std::string pci = "sys/devices/pci0000:00/0000:00:05.0";
  const auto is_one = [&] { return Discovery(m.machine(), {}).discover().at(0).virtual_function; };
  SUBCASE("on the host, and not those that a machine has") {
    add_gpu(m.tree, {"pci0000:00/0000:00:05.0", "xe", "card0", "renderD128", "0xe212"});
    add_gpu(m.tree, {"pci0000:00/0000:00:05.1", "xe", "card1", "renderD129", "0xe212"});
    m.tree.link("sys/devices/pci0000:00/0000:00:05.1/physfn", "../0000:00:05.0");
    m.tree.write("sys/devices/pci0000:00/0000:00:05.2/vendor", "0x8086\n");
    m.tree.link("sys/devices/pci0000:00/0000:00:05.2/driver", "../../../bus/pci/drivers/xe-vfio-pci");
    Discovery discovery(m.machine(), {});
    REQUIRE(discovery.discover().size() == 2);
    CHECK_FALSE(discovery.discover()[0].virtual_function);
    CHECK(discovery.discover()[1].virtual_function);
  }
  SUBCASE("xe in a machine: no PMU, no hwmon, no clocks and no residency") {
    add_gpu(m.tree, {"pci0000:00/0000:00:05.0", "xe", "card0", "renderD128", "0xe212"});
    CHECK_FALSE(is_one());  // an older kernel, without the folders of the GTs
    m.tree.write(pci + "/tile0/gt0/engines/rcs/job_timeout_ms", "5000\n");
    CHECK(is_one());
    SUBCASE("an old kernel without PMU has clocks") { m.tree.write(pci + "/tile0/gt0/freq0/act_freq", "0\n"); }
    SUBCASE("residency") { m.tree.write(pci + "/tile0/gt0/gtidle/idle_residency_ms", "0\n"); }
    SUBCASE("hwmon") { m.tree.write(pci + "/hwmon/hwmon3/name", "xe\n"); }
    SUBCASE("a PMU") { m.tree.write("sys/bus/event_source/devices/xe_0000_00_05.0/type", "21\n"); }
    CHECK_FALSE(is_one());
  }
  SUBCASE("i915-sriov-dkms says so") {
    add_gpu(m.tree, {"pci0000:00/0000:00:05.0", "i915", "card0", "renderD128", "0xa7a0"});
    CHECK_FALSE(is_one());
    m.tree.write(pci + "/drm/card0/prelim_iov/mode", "PF\n");
    CHECK_FALSE(is_one());
    m.tree.write(pci + "/drm/card0/prelim_iov/mode", "VF\n");
    CHECK(is_one());
  }
}

TEST_CASE("a machine without DRM, and invalid files, show no GPU and do no harm") {
  TestMachine machine;
  Discovery discovery(machine.machine(), {});
  CHECK(discovery.discover().empty());
  machine.tree.write("sys/class/drm/version", "drm 1.1.0\n");
  machine.tree.write("sys/class/drm/card0", "no link\n");
  machine.tree.link("sys/class/drm/card1", "../../nowhere");
  machine.tree.link("sys/class/drm/card2", "../../devices/platform/something/drm/card2");
  CHECK(discovery.discover().empty());
}

TEST_SUITE_END();
