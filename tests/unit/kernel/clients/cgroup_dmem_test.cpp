// SPDX-License-Identifier: Apache-2.0
// What /sys/fs/cgroup shows of the controller dmem, and which memory is whose.
#include "kernel/clients/cgroup_dmem.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "support/test_machine.h"

TEST_SUITE_BEGIN("cgroup_dmem");

using namespace igpu;
using namespace igpu::test;

namespace {

class Groups {
 public:
  TestMachine m;

  // vram: of one card
  void group(const std::string& path, std::uint64_t vram) {
    write(path, "drm/0000:03:00.0/vram0 " + std::to_string(vram) + "\n");
  }
  void write(const std::string& path, const std::string& text) {
    m.tree.write("sys/fs/cgroup" + path + "/dmem.current", text);
    m.tree.write("sys/fs/cgroup" + path + "/cgroup.procs", "");
  }
  Reading<std::vector<CgroupDmem>> read() { return CgroupDmemTree(m.machine().sys).read(); }
  // -1: the group is not among those that hold memory.
  std::int64_t bytes(const std::string& path) {
    const auto found = read();
    REQUIRE(found);
    for (const CgroupDmem& group : *found)
      if (group.cgroup == path) return static_cast<std::int64_t>(group.charges.front().bytes);
    return -1;
  }
};

}  // namespace

TEST_CASE("a line for each region of each GPU; other devices and anything else are left out") {
  const auto charges = parse_dmem(
      "drm/0000:04:00.0/vram1 7\n"
      "drm/0000:03:00.0/vram0 12550144\n"
      "drm/0000:04:00.0/vram0 0\n"
      "drm/card0/vram0 5\n"
      "drm/0000:03:00.0/ 5\n"
      "drm/0000:03:00.0/vram0\n"
      "drm/0000:03:00.0/stolen max\n"
      "drm/0000:03:00.0/stolen -1\n"
      "drm/0000:03:00.0/stolen 99999999999999999999999\n"
      "dma_heap/system 9\n"
      "\n"
      "drm");
  CHECK(charges == std::vector<DmemCharge>{{"0000:03:00.0", "vram0", 12550144},
                                           {"0000:04:00.0", "vram0", 0},
                                           {"0000:04:00.0", "vram1", 7}});
}

TEST_CASE("a group has what it holds beyond the groups below it") {
  Groups g;
  g.group("", 1000);
  g.group("/system.slice", 700);
  g.group("/system.slice/jellyfin.service", 400);
  g.group("/system.slice/docker-1.scope", 300);
  g.group("/system.slice/cron.service", 0);
  g.group("/kubepods.slice", 300);
  g.group("/kubepods.slice/pod1.slice", 250);
  CHECK(g.bytes("/system.slice") == -1);
  CHECK(g.bytes("/system.slice/jellyfin.service") == 400);
  CHECK(g.bytes("/system.slice/docker-1.scope") == 300);
  CHECK(g.bytes("/system.slice/cron.service") == -1);
  CHECK(g.bytes("/kubepods.slice") == 50);
  CHECK(g.bytes("/kubepods.slice/pod1.slice") == 250);
  CHECK(g.bytes("") == -1);  // processes in no group
}

TEST_CASE("the controller is not enabled below a group: it has the memory of all of them") {
  Groups g;
  g.group("", 500);
  g.group("/system.slice", 500);
  g.m.tree.write("sys/fs/cgroup/system.slice/jellyfin.service/cgroup.procs", "");
  CHECK(g.bytes("/system.slice") == 500);
}

TEST_CASE("groups that change while they are read hold nothing, rather than less than nothing") {
  Groups g;
  g.group("", 500);
  g.group("/a.slice", 100);
  g.group("/a.slice/b.service", 150);
  CHECK(g.bytes("/a.slice") == -1);
  CHECK(g.bytes("/a.slice/b.service") == 150);
}

TEST_CASE("no controller; one that is enabled for no group") {
  Groups g;
  CHECK(g.read().absent().reason == Reason::kernel);
  g.group("", 500);
  g.m.tree.write("sys/fs/cgroup/system.slice/cgroup.procs", "");
  CHECK(g.read().absent().reason == Reason::disabled);
  g.group("/system.slice", 0);
  CHECK(g.read()->empty());
}

TEST_CASE("very deep, and very many groups are bounded") {
  Groups g;
  g.group("", 500);
  std::string deep;
  for (int i = 0; i < 60; ++i) g.group(deep += "/d", 500);
  const auto found = g.read();
  REQUIRE(found);
  CHECK(found->size() == 1);
  CHECK(std::ranges::count(found->front().cgroup, '/') == CgroupDmemTree::kDeepest);
}

TEST_SUITE_END();
