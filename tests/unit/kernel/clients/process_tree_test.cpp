// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "kernel/clients/process.h"
#include "support/proc_tree.h"

using namespace igpu;
using namespace std::chrono_literals;

namespace {

struct Spec {
  std::uint32_t parent = 1;
  std::string comm = "sh";
  std::uint64_t start = 1000;
};

std::string stat_line(std::uint32_t pid, const Spec& spec) {
  return std::to_string(pid) + " (" + spec.comm + ") S " + std::to_string(spec.parent) +
         " 1 1 0 -1 4194304 10 11 0 0 140 150 16 17 20 0 1 0 " + std::to_string(spec.start) + " 8192 3 0 0\n";
}

struct Scene {
  Scene() { tree.set_boot_time(50'259ms); }
  void add(std::uint32_t pid, const Spec& spec = {}) {
    tree.tree.write("proc/" + std::to_string(pid) + "/stat", stat_line(pid, spec));
  }
  // As a kernel with CONFIG_PROC_CHILDREN shows it.
  void list_children(std::uint32_t pid, std::uint32_t thread, const std::string& children) {
    tree.tree.write("proc/" + std::to_string(pid) + "/task/" + std::to_string(thread) + "/children", children);
  }
  std::vector<std::uint32_t> pids_below(const std::vector<std::uint32_t>& roots, ProcessTree::Limits limits = {}) {
    const auto result = ProcessTree(tree.machine(), limits).below(roots);
    REQUIRE(result);
    found = *result;
    std::vector<std::uint32_t> pids;
    for (const TreeProcess& process : found.processes) pids.push_back(process.pid);
    return pids;
  }

  test::ProcTree tree;
  ProcessTree::Found found;
};

using Pids = std::vector<std::uint32_t>;

}  // namespace

TEST_SUITE_BEGIN("process tree");

TEST_CASE(
    "a process that cannot be read this time has not ended: the search is incomplete, with lists of children or "
    "without") {
  Scene scene;
  scene.add(7);
  scene.add(8, {.parent = 7});
  SUBCASE("the kernel lists children") {
    scene.list_children(7, 7, "8 ");
    scene.list_children(8, 8, "");
  }
  SUBCASE("it does not") {}
  CHECK(scene.pids_below({7}) == Pids{7, 8});
  CHECK(scene.found.complete);
  scene.tree.tree.remove("proc/8/stat");
  scene.tree.tree.make_directory("proc/8/stat");  // EISDIR, in place of EMFILE or ENOMEM
  CHECK(scene.pids_below({7}) == Pids{7});
  CHECK_FALSE(scene.found.complete);
  scene.tree.tree.remove("proc/8");
  CHECK(scene.pids_below({7}) == Pids{7});
  CHECK(scene.found.complete);
}

TEST_CASE("bytes from and to storage") {
  const auto io = parse_process_io(
      "rchar: 900\nwchar: 800\nsyscr: 1\nsyscw: 1\nread_bytes: 4096\nwrite_bytes: 8192\ncancelled_write_bytes: 4096\n");
  REQUIRE(io);
  CHECK(io->read_bytes == 4096);
  CHECK(io->written_bytes == 8192);
  CHECK_FALSE(parse_process_io(""));
  CHECK_FALSE(parse_process_io("read_bytes: 1\n"));
  CHECK_FALSE(parse_process_io("read_bytes: x\nwrite_bytes: 1\n"));
}

TEST_CASE("everybody below the roots, where the kernel lists no children") {
  Scene scene;
  scene.add(1, {.parent = 0});
  scene.add(7);
  scene.add(8, {.parent = 7});
  scene.add(3, {.parent = 8});  // a number that was used again
  scene.add(9, {.parent = 1});
  CHECK(scene.pids_below({7}) == Pids{3, 7, 8});
  CHECK(scene.pids_below({8, 9}) == Pids{3, 8, 9});
  CHECK(scene.pids_below({}) == Pids{});
  CHECK(scene.found.now_ticks == 5025);
  CHECK(scene.found.complete);
}

TEST_CASE("where the kernel lists children nobody else is read") {
  Scene scene;
  for (std::uint32_t pid : {1U, 9U}) scene.add(pid, {.parent = 0});
  scene.add(7);
  scene.add(8, {.parent = 7});
  scene.add(10, {.parent = 7});
  scene.list_children(7, 7, "8 ");
  scene.list_children(7, 11, "10 12 ");  // another thread's; 12 has gone
  scene.list_children(8, 8, "");
  scene.list_children(10, 10, "");
  CHECK(scene.pids_below({7, 7, 8}) == Pids{7, 8, 10});
  CHECK(scene.tree.reads("proc/9/stat") == 0);
  CHECK(scene.tree.reads("proc/8/stat") == 1);
}

TEST_CASE("what a process has used, and the name does not matter") {
  for (const std::string comm : {"ffmpeg", "", ") S 1 (", "line\nbreak", "\xff\xfe) 1 2 3"}) {
    CAPTURE(comm);
    Scene scene;
    scene.add(7, {.parent = 5, .comm = comm, .start = 77});
    scene.tree.tree.write("proc/7/io", "read_bytes: 4096\nwrite_bytes: 8192\n");
    scene.pids_below({7});
    REQUIRE(scene.found.processes.size() == 1);
    const TreeProcess& process = scene.found.processes[0];
    CHECK(process.parent == 5);
    CHECK(process.start_ticks == 77);
    CHECK(process.user_ticks == 140);
    CHECK(process.system_ticks == 150);
    CHECK(process.reaped_user_ticks == 16);
    CHECK(process.reaped_system_ticks == 17);
    CHECK(process.reaped_faults == 11);
    CHECK(process.resident_bytes == 3 * 4096);
    CHECK(process.read_bytes == 4096);
    CHECK(process.written_bytes == 8192);
  }
}

TEST_CASE("roots that have gone, or hold nothing that can be read, are left out") {
  Scene scene;
  scene.add(7);
  scene.tree.tree.write("proc/8/stat", "8 (cut");
  CHECK(scene.pids_below({7, 8, 4711}) == Pids{7});
  CHECK_FALSE(scene.found.processes[0].read_bytes);
  CHECK_FALSE(scene.found.io_denied);
}

TEST_CASE("a process that claims to be its own ancestor ends the search all the same") {
  Scene scene;
  scene.add(7, {.parent = 8});
  scene.add(8, {.parent = 7});
  CHECK(scene.pids_below({7}) == Pids{7, 8});
  scene.list_children(7, 7, "8 ");
  scene.list_children(8, 8, "7 ");
  CHECK(scene.pids_below({7}) == Pids{7, 8});
}

TEST_CASE("a crowd ends at the limit, and so does a slow machine") {
  Scene scene;
  std::string children;
  for (std::uint32_t pid = 100; pid < 200; ++pid) {
    scene.add(pid, {.parent = 7});
    scene.list_children(pid, pid, "");
    children += std::to_string(pid) + " ";
  }
  scene.add(7);
  scene.list_children(7, 7, children);
  CHECK(scene.pids_below({7}, {.processes = 20, .time = 1h}).size() == 20);
  CHECK_FALSE(scene.found.complete);
  CHECK(scene.pids_below({7}).size() == 101);
  CHECK(scene.found.complete);
  scene.tree.set_time_per_look(100ms);
  CHECK(scene.pids_below({7}).size() < 20);
  CHECK_FALSE(scene.found.complete);
}

TEST_CASE("a search has the time on the clock of start times, whatever /proc/uptime says") {
  Scene scene;
  scene.tree.tree.write("proc/uptime", "7.00 1.00\n");
  (void)scene.pids_below({});
  CHECK(scene.found.now_ticks == 5025);
}

TEST_SUITE_END();
