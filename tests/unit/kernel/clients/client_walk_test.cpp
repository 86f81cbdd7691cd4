// SPDX-License-Identifier: Apache-2.0
#include "kernel/clients/client_walk.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "support/proc_tree.h"

using namespace igpu;
using namespace igpu::test;
using namespace std::chrono_literals;

namespace {

constexpr const char* kIgpu = "0000:00:02.0";
constexpr const char* kCard = "0000:03:00.0";
const std::vector<std::string> kNobody;

struct Walker {
  explicit Walker(ProcTree& tree, ClientWalk::Limits limits = {}) : walk(tree.machine(), limits) {}
  ClientSnapshot operator()(const std::vector<std::string>& asleep = kNobody) {
    auto snapshot = walk.find(asleep);
    REQUIRE(snapshot);
    return *std::move(snapshot);
  }
  ClientWalk walk;
};

std::vector<std::string> clients_of(const ClientSnapshot& snapshot) {
  std::vector<std::string> all;
  for (const DrmClient& c : snapshot.clients)
    all.push_back(c.device + " " + std::to_string(c.pid) + " " + std::to_string(c.id));
  return all;
}
using Clients = std::vector<std::string>;

}  // namespace

TEST_SUITE_BEGIN("client walk");

TEST_CASE("the clients of a process, with the facts of the process") {
  ProcTree tree;
  tree.add_process(7, {.comm = "jellyfin-ffmpeg", .start_time_ticks = 55});
  tree.add_file(7, 0, "pos:\t0\nflags:\t02\n");
  tree.add_file(
      7, 5,
      i915_block(kIgpu, 39,
                 "drm-engine-video:\t1500 ns\ndrm-engine-capacity-video:\t2\ndrm-total-system0:\t6044 KiB\n"));
  tree.add_process(8);
  tree.add_file(8, 1, "pos:\t0\n");
  const ClientSnapshot snapshot = Walker(tree)();
  REQUIRE(snapshot.clients.size() == 1);
  const DrmClient& client = snapshot.clients[0];
  CHECK(client.device == kIgpu);
  CHECK(client.driver == Driver::i915);
  CHECK(client.id == 39);
  CHECK(client.pid == 7);
  CHECK(client.time == tree.machine().clock.now());
  CHECK(client.engines[2].busy_ns == 1500);
  CHECK(client.engines[2].capacity == 2);
  REQUIRE(client.memory.size() == 1);
  CHECK(client.memory[0].region == "system0");
  CHECK(client.memory[0].total == 6044u * 1024);
  REQUIRE(snapshot.processes.size() == 1);
  CHECK(snapshot.processes[0].comm == "jellyfin-ffmpeg");
  CHECK(snapshot.processes[0].start_time_ticks == 55);
  CHECK(snapshot.processes_seen == 2);
  CHECK(snapshot.pids == std::vector<std::uint32_t>{7, 8});
  CHECK(snapshot.complete);
  CHECK_FALSE(snapshot.pids_hidden);  // a captured tree has no "self": unknown
}

TEST_CASE("only processes with a client have their facts read, and each file once") {
  ProcTree tree;
  tree.add_process(7);
  tree.add_file(7, 5, i915_block(kIgpu, 1));
  tree.add_process(8);
  tree.add_file(8, 5, "pos:\t0\n");
  (void)Walker(tree)();
  CHECK(tree.reads("proc/7/stat") == 1);
  CHECK(tree.reads("proc/7/fdinfo/5") == 1);
  CHECK(tree.reads("proc/8/stat") == 0);
  CHECK(tree.reads("proc/8/status") == 0);
  CHECK(tree.reads("proc/8/fdinfo/5") == 1);
}

TEST_CASE("fdinfo whose link names no DRM node is not opened; with an unreadable link it is") {
  ProcTree tree;
  tree.add_process(7);
  tree.add_file(7, 0, "pos:\t0\n", "/dev/null");
  tree.add_file(7, 1, "pos:\t0\n", "socket:[4242]");
  tree.add_file(7, 2, "pos:\t0\n", "/home/alice/renderings/cards");
  tree.add_file(7, 3, i915_block(kIgpu, 1), "/dev/dri/renderD128");
  tree.add_file(7, 4, i915_block(kIgpu, 2), "/container/card0 (deleted)");
  tree.add_file(7, 5, i915_block(kIgpu, 3));
  CHECK(clients_of(Walker(tree)()) == Clients{"0000:00:02.0 7 1", "0000:00:02.0 7 2", "0000:00:02.0 7 3"});
  CHECK(tree.reads("proc/7/fdinfo/0") == 0);
  CHECK(tree.reads("proc/7/fdinfo/1") == 0);
  CHECK(tree.reads("proc/7/fdinfo/3") == 1);
}

namespace {

constexpr const char* kNpu = "0000:00:0b.0";

std::string npu_block(std::uint64_t client, const std::string& driver = "intel_vpu") {
  return "pos:\t0\ndrm-driver:\t" + driver + "\ndrm-client-id:\t" + std::to_string(client) + "\ndrm-pdev:\t" + kNpu +
         "\ndrm-total-memory:\t64 MiB\ndrm-shared-memory:\t0\ndrm-resident-memory:\t41 MiB\n";
}

}  // namespace

TEST_CASE("clients of an NPU are listed apart, and their process is none that uses a GPU") {
  ProcTree tree;
  tree.add_process(7, {.comm = "python3"});
  tree.add_file(7, 3, npu_block(5), "/dev/accel/accel0");
  tree.add_file(7, 4, npu_block(5), "/dev/accel/accel0");  // dup
  tree.add_file(7, 5, npu_block(6));                       // the link may not be read
  tree.add_process(8);
  tree.add_file(8, 3, npu_block(5), "/dev/accel/accel0");  // inherited
  tree.add_file(8, 4, i915_block(kIgpu, 1), "/dev/dri/renderD128");
  tree.add_process(9);
  tree.add_file(9, 3, npu_block(9, "amdxdna_accel_driver"), "/dev/accel/accel1");
  tree.add_file(9, 4, "pos:\t0\n", "/dev/accel/accel0");
  Walker walk(tree);
  for (int i = 0; i < 3; ++i) {
    const ClientSnapshot snapshot = walk();
    REQUIRE(snapshot.npu_clients.size() == 2);
    CHECK(snapshot.npu_clients[0].device == kNpu);
    CHECK(snapshot.npu_clients[0].id == 5);
    CHECK(snapshot.npu_clients[0].pid == 7);
    CHECK(snapshot.npu_clients[0].comm == "python3");
    REQUIRE(snapshot.npu_clients[0].memory.size() == 1);
    CHECK(snapshot.npu_clients[0].memory[0].region == "memory");
    CHECK(snapshot.npu_clients[0].memory[0].resident == 41u * 1024 * 1024);
    CHECK(snapshot.npu_clients[1].id == 6);
    CHECK(clients_of(snapshot) == Clients{"0000:00:02.0 8 1"});
    REQUIRE(snapshot.processes.size() == 1);
    CHECK(snapshot.processes[0].pid == 8);
    CHECK(snapshot.npu_files_silent == 1);
    CHECK(snapshot.blocks_skipped == 0);
  }
  // Only its name is on the page.
  CHECK(tree.reads("proc/7/stat") == 3);
  CHECK(tree.reads("proc/7/status") == 0);
  CHECK(tree.reads("proc/7/cgroup") == 0);
  CHECK(tree.reads("proc/8/cgroup") == 3);
}

TEST_CASE("on a live system an NPU's descriptor that is closed is gone, and one without text stays known") {
  ProcTree tree;
  tree.set_self(1);
  tree.add_process(7);
  tree.set_descriptors(7, 70, 4);
  tree.add_file(7, 3, npu_block(5), "/dev/accel/accel0");
  tree.add_file(7, 4, "pos:\t0\n", "/dev/accel/accel0");
  tree.set_device("proc/7/fd/4", 261, 0);
  // Other files of such a name say nothing about the driver.
  tree.add_file(7, 5, "pos:\t0\n", "/dev/accel1");
  tree.set_device("proc/7/fd/5", 10, 5);
  tree.add_file(7, 6, "pos:\t0\n", "/home/alice/accelerate.log");
  Walker walk(tree);
  for (int i = 0; i < 20; ++i) {
    const ClientSnapshot snapshot = walk();
    CHECK(snapshot.npu_clients.size() == 1);
    CHECK(snapshot.npu_files_silent == 1);
  }
  tree.tree.remove("proc/7/fdinfo/3");
  tree.tree.remove("proc/7/fd/3");
  tree.set_descriptors(7, 70, 3);
  CHECK(walk().npu_clients.empty());
}

TEST_CASE("while an xe GPU is suspended, clients of an NPU are read: that resumes nothing") {
  ProcTree tree;
  tree.set_self(1);
  tree.add_gpu(kCard, "xe", "card1", "renderD129");
  tree.tree.write("sys/devices/pci0000:00/0000:00:0b.0/accel/accel0/dev", "261:0\n");
  tree.tree.link("sys/devices/pci0000:00/0000:00:0b.0/accel/accel0/device", "../../../0000:00:0b.0");
  tree.tree.link("sys/devices/pci0000:00/0000:00:0b.0/driver", "../../../bus/pci/drivers/intel_vpu");
  tree.tree.link("sys/class/accel/accel0", "../../devices/pci0000:00/0000:00:0b.0/accel/accel0");
  tree.add_process(7);
  tree.add_file(7, 3, npu_block(5), "/dev/accel/accel0");
  tree.add_file(7, 4, xe_block(kCard, 2), "/dev/dri/renderD129");
  tree.add_file(7, 5, npu_block(6), "/dev/npu");
  tree.set_device("proc/7/fd/5", 261, 0);
  tree.add_file(7, 6, xe_block(kCard, 3), "/dev/gpu");
  tree.set_device("proc/7/fd/6", 226, 0);
  const ClientSnapshot snapshot = Walker(tree)({kCard});
  CHECK(snapshot.npu_clients.size() == 2);
  CHECK(snapshot.clients.empty());
  CHECK(tree.reads("proc/7/fdinfo/4") == 0);
  CHECK(tree.reads("proc/7/fdinfo/6") == 0);
  CHECK(snapshot.files_left_out == 0);
}

TEST_CASE("a DRM node with another name in a container's /dev is recognised by its number") {
  ProcTree tree;
  tree.set_self(1);
  tree.add_process(7);
  tree.add_file(7, 3, i915_block(kIgpu, 1), "/dev/gpu0");
  tree.set_device("proc/7/fd/3", 226, 128);
  tree.add_file(7, 4, "pos:\t0\n", "/dev/kvm");
  tree.set_device("proc/7/fd/4", 10, 232);
  tree.add_file(7, 5, "pos:\t0\n", "/dev/pts/3");
  tree.add_file(7, 6, i915_block(kIgpu, 2), "/dev/no-such-device-here");  // no hint: it is read
  CHECK(clients_of(Walker(tree)()) == Clients{"0000:00:02.0 7 1", "0000:00:02.0 7 2"});
  CHECK(tree.reads("proc/7/fdinfo/4") == 0);
  CHECK(tree.reads("proc/7/fdinfo/5") == 0);
}

TEST_CASE("while an xe GPU is suspended, nodes with other names are recognised by their number, too") {
  ProcTree tree;
  tree.set_self(1);
  tree.add_gpu(kIgpu, "i915", "card0", "renderD128");
  tree.add_gpu(kCard, "xe", "card1", "renderD129");
  tree.tree.write("sys/devices/pci0000:00/0000:00:02.0/drm/renderD128/dev", "226:128\n");
  tree.tree.write("sys/devices/pci0000:00/0000:03:00.0/drm/renderD129/dev", "226:129\n");
  tree.add_process(7);
  tree.add_file(7, 3, i915_block(kIgpu, 1), "/dev/gpu0");
  tree.set_device("proc/7/fd/3", 226, 128);
  tree.add_file(7, 4, xe_block(kCard, 2), "/dev/gpu1");
  tree.set_device("proc/7/fd/4", 226, 129);
  Walker walk(tree);
  ClientSnapshot snapshot = walk({kCard});
  CHECK(clients_of(snapshot) == Clients{"0000:00:02.0 7 1"});
  CHECK(snapshot.files_left_out == 0);
  CHECK(tree.reads("proc/7/fdinfo/4") == 0);

  tree.add_file(7, 5, i915_block(kIgpu, 3), "/dev/no-such-device-here");  // no hint: it is not read, and counted
  snapshot = walk({kCard});
  CHECK(snapshot.files_left_out == 1);
  CHECK(tree.reads("proc/7/fdinfo/5") == 0);
}

TEST_CASE("a client that was copied, inherited or passed on counts once, for its lowest PID") {
  ProcTree tree;
  for (const std::uint32_t pid : {30u, 9u, 100u}) tree.add_process(pid);
  tree.add_file(9, 4, i915_block(kIgpu, 50));
  tree.add_file(9, 5, i915_block(kIgpu, 50));   // dup
  tree.add_file(30, 4, i915_block(kIgpu, 50));  // fork
  tree.add_file(30, 6, i915_block(kIgpu, 51));
  tree.add_file(100, 3, i915_block(kIgpu, 50));  // SCM_RIGHTS
  const ClientSnapshot snapshot = Walker(tree)();
  CHECK(clients_of(snapshot) == Clients{"0000:00:02.0 9 50", "0000:00:02.0 30 51"});
  REQUIRE(snapshot.processes.size() == 2);  // 100 holds nothing of its own
  CHECK(snapshot.processes[0].pid == 9);
  CHECK(snapshot.processes[1].pid == 30);
}

TEST_CASE("the same id on two GPUs is two clients: old kernels number clients by device") {
  ProcTree tree;
  tree.add_process(7);
  tree.add_file(7, 4, i915_block(kIgpu, 1));
  tree.add_file(7, 5, xe_block(kCard, 1));
  CHECK(clients_of(Walker(tree)()) == Clients{"0000:00:02.0 7 1", "0000:03:00.0 7 1"});
}

TEST_CASE("other drivers' clients are ignored; blocks without a client are counted") {
  ProcTree tree;
  tree.add_process(7);
  tree.add_file(7, 3, "drm-driver:\tamdgpu\ndrm-client-id:\t1\ndrm-pdev:\t0000:04:00.0\n");
  tree.add_file(7, 4, "drm-driver:\ti915\ndrm-pdev:\t0000:00:02.0\n");
  tree.add_file(7, 5, "drm-engine-render:\t12 n");
  const ClientSnapshot snapshot = Walker(tree)();
  CHECK(snapshot.clients.empty());
  CHECK(snapshot.processes.empty());
  CHECK(snapshot.blocks_skipped == 1);
}

TEST_CASE("the exporter's own process is left out") {
  ProcTree tree;
  tree.set_self(7);
  for (const std::uint32_t pid : {7u, 8u}) {
    tree.add_process(pid);
    tree.add_file(pid, 3, i915_block(kIgpu, pid));
  }
  const ClientSnapshot snapshot = Walker(tree)();
  CHECK(clients_of(snapshot) == Clients{"0000:00:02.0 8 8"});
  CHECK(std::count(snapshot.pids.begin(), snapshot.pids.end(), 7u) == 1);
}

TEST_CASE("a procfs without PID 2 hides other users' processes") {
  ProcTree tree;
  tree.set_self(7);
  CHECK(Walker(tree)().pids_hidden);  // hidepid
  tree.add_process(2);
  tree.tree.write("proc/2/comm", "nginx\n");
  CHECK(Walker(tree)().pids_hidden);  // a container's own PID namespace
  tree.tree.write("proc/2/comm", "kthreadd\n");
  CHECK_FALSE(Walker(tree)().pids_hidden);
}

TEST_CASE("an oversized fdinfo is read up to its last complete line") {
  ProcTree tree;
  tree.add_process(7);
  std::string text = i915_block(kIgpu, 3, "drm-engine-render:\t17 ns\n");
  while (text.size() < 20000) text += "drm-total-noise" + std::to_string(text.size()) + ":\t123456\n";
  tree.add_file(7, 3, text);
  const ClientSnapshot snapshot = Walker(tree)();
  REQUIRE(snapshot.clients.size() == 1);
  CHECK(snapshot.clients[0].engines[0].busy_ns == 17);
}

TEST_CASE("a walk that runs out of time is incomplete, and the next ones continue until all were seen") {
  ProcTree tree;
  std::set<std::uint64_t> all;
  for (std::uint32_t pid = 1; pid <= 40; ++pid) {
    tree.add_process(pid);
    for (std::uint32_t fd = 0; fd < 5; ++fd) tree.add_file(pid, fd, i915_block(kIgpu, pid * 10 + fd));
  }
  tree.set_time_per_look(1ms);
  Walker walk(tree, {.time = 50ms});
  std::set<std::uint64_t> seen;
  int walks = 0;
  while (seen.size() < 200 && walks < 20) {
    const ClientSnapshot snapshot = walk();
    ++walks;
    CHECK_FALSE(snapshot.complete);
    CHECK(snapshot.pids.size() == 40);
    CHECK(snapshot.duration <= 60ms);
    for (const DrmClient& client : snapshot.clients) seen.insert(client.id);
  }
  CHECK(seen.size() == 200);
  CHECK(walks <= 8);
}

TEST_CASE("a process with more files than a walk has time for starves neither the others nor its own files") {
  ProcTree tree;
  tree.add_process(5);
  for (std::uint32_t fd = 0; fd < 100; ++fd) tree.add_file(5, fd, i915_block(kIgpu, fd));
  tree.add_process(6);
  tree.add_file(6, 0, i915_block(kIgpu, 1000));
  tree.set_time_per_look(1ms);
  Walker walk(tree, {.time = 30ms});
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 20; ++i)
    for (const DrmClient& client : walk().clients) seen.insert(client.id);
  CHECK(seen.contains(1000));
  CHECK(seen.size() == 101);
}

TEST_CASE("while an xe GPU is suspended nothing is read that wakes it: links show which files are its") {
  ProcTree tree;
  tree.add_gpu(kIgpu, "i915", "card0", "renderD128");
  tree.add_gpu(kCard, "xe", "card1", "renderD129");
  tree.add_process(7);
  tree.add_file(7, 3, i915_block(kIgpu, 1), "/dev/dri/renderD128");
  tree.add_file(7, 4, xe_block(kCard, 2), "/dev/dri/renderD129");
  tree.add_file(7, 5, xe_block(kCard, 3), "/dev/dri/card1");
  tree.add_file(7, 6, i915_block(kIgpu, 4), "/dev/dri/card0");
  tree.add_file(7, 7, "pos:\t0\n", "socket:[4711]");
  Walker walk(tree);
  const ClientSnapshot snapshot = walk({kCard});
  CHECK(clients_of(snapshot) == Clients{"0000:00:02.0 7 1", "0000:00:02.0 7 4"});
  CHECK(snapshot.files_left_out == 0);  // nothing that could be an awake GPU's
  for (const char* fd : {"4", "5", "7"}) CHECK(tree.reads(std::string("proc/7/fdinfo/") + fd) == 0);

  CHECK(walk().clients.size() == 4);  // it woke by itself
}

TEST_CASE("without links an earlier walk decides; new descriptors and reused PIDs are left out") {
  ProcTree tree;
  tree.add_gpu(kIgpu, "i915", "card0", "renderD128");
  tree.add_gpu(kCard, "xe", "card1", "renderD129");
  for (const std::uint32_t pid : {7u, 8u}) {
    tree.add_process(pid, {.start_time_ticks = pid});
    tree.add_file(pid, 3, i915_block(kIgpu, pid));
    tree.add_file(pid, 4, xe_block(kCard, pid));
  }
  Walker walk(tree);
  const ClientSnapshot all_awake = walk();
  CHECK(all_awake.clients.size() == 4);
  CHECK(all_awake.files_left_out == 0);
  for (int i = 0; i < 3; ++i) CHECK(clients_of(walk({kCard})) == Clients{"0000:00:02.0 7 7", "0000:00:02.0 8 8"});

  tree.add_file(7, 9, xe_block(kCard, 99));         // owner unknown
  tree.add_process(8, {.start_time_ticks = 1234});  // another process of that PID
  for (const char* file : {"proc/7/fdinfo/4", "proc/7/fdinfo/9", "proc/8/fdinfo/3", "proc/8/fdinfo/4"})
    (void)tree.reads(file);
  const ClientSnapshot beside_sleeper = walk({kCard});
  CHECK(clients_of(beside_sleeper) == Clients{"0000:00:02.0 7 7"});
  CHECK(beside_sleeper.files_left_out == 3);  // their owners are unknown
  for (const char* file : {"proc/7/fdinfo/4", "proc/7/fdinfo/9", "proc/8/fdinfo/3", "proc/8/fdinfo/4"}) {
    CAPTURE(file);
    CHECK(tree.reads(file) == 0);
  }
}

TEST_CASE("while every Intel GPU is suspended /proc is not walked") {
  ProcTree tree;
  tree.add_gpu(kCard, "xe", "card0", "renderD128");
  tree.add_process(7);
  tree.add_file(7, 4, xe_block(kCard, 2), "/dev/dri/renderD128");
  const ClientSnapshot snapshot = Walker(tree)({kCard});
  CHECK(snapshot.clients.empty());
  CHECK(snapshot.complete);
  CHECK(snapshot.processes_seen == 0);
  CHECK(tree.reads("proc/7/fdinfo/4") == 0);
}

TEST_CASE("fdinfo does not resume a suspended i915 GPU: its clients are only left out") {
  ProcTree tree;
  tree.add_gpu(kIgpu, "i915", "card0", "renderD128");
  tree.add_gpu(kCard, "xe", "card1", "renderD129");
  tree.add_process(7);
  tree.add_file(7, 3, i915_block(kIgpu, 1));
  tree.add_file(7, 4, xe_block(kCard, 2));
  const ClientSnapshot snapshot = Walker(tree)({kIgpu});
  CHECK(clients_of(snapshot) == Clients{"0000:03:00.0 7 2"});
  CHECK(snapshot.files_left_out == 0);
}

TEST_CASE("a GPU of unknown driver is treated as one that reading resumes") {
  ProcTree tree;
  tree.add_process(7);
  tree.add_file(7, 4, xe_block(kCard, 2));
  CHECK(Walker(tree)({kCard}).clients.empty());
  CHECK(tree.reads("proc/7/fdinfo/4") == 0);
}

TEST_CASE("a process without a readable stat is treated as ended, with its clients") {
  ProcTree tree;
  tree.add_process(7);
  tree.tree.write("proc/7/stat", "");
  tree.add_file(7, 3, i915_block(kIgpu, 1));
  const ClientSnapshot snapshot = Walker(tree)();
  CHECK(snapshot.clients.empty());
  CHECK(snapshot.processes.empty());
}

// A live procfs: our own process is 1, and process 2 is the kernel's.
struct LiveTree : ProcTree {
  explicit LiveTree(bool counts_descriptors = true) : counts(counts_descriptors) {
    set_self(1);
    add_process(1);
    set_descriptors(1, 1, counts ? 9 : 0);
  }
  void start(std::uint32_t pid, std::uint64_t start_time_ticks = 1000) {
    add_process(pid, {.start_time_ticks = start_time_ticks});
    set_descriptors(pid, ++inodes, 0);
    add_file(pid, 0, "pos:\t0\n");
    open_files[pid] = {0};
    note_count(pid);
  }
  void open(std::uint32_t pid, std::uint32_t fd, std::string_view text) {
    add_file(pid, fd, text);
    open_files[pid].insert(fd);
    note_count(pid);
  }
  void close(std::uint32_t pid, std::uint32_t fd) {
    tree.remove("proc/" + std::to_string(pid) + "/fdinfo/" + std::to_string(fd));
    open_files[pid].erase(fd);
    note_count(pid);
  }
  void note_count(std::uint32_t pid) { set_descriptors(pid, inodes, counts ? open_files[pid].size() : 0); }

  const bool counts;
  std::uint64_t inodes = 100;
  std::map<std::uint32_t, std::set<std::uint32_t>> open_files;
};

// intel_gpu_top prints its first record after three walks: only one of them may read every descriptor.
TEST_CASE("the second walk of a machine with 500 processes reads the clients and a share of the processes") {
  constexpr std::uint32_t kFirst = 100, kProcesses = 500, kDescriptors = 20;
  for (const bool counts : {true, false}) {
    CAPTURE(counts);
    LiveTree tree(counts);
    for (std::uint32_t pid = kFirst; pid < kFirst + kProcesses; ++pid) {
      tree.start(pid);
      for (std::uint32_t fd = 1; fd < kDescriptors; ++fd) tree.open(pid, fd, "pos:\t0\n");
    }
    for (std::uint32_t client = 0; client < 5; ++client) tree.open(kFirst + 90 * client, 20, i915_block(kIgpu, client));
    const auto reads = [&tree] {
      int sum = 0;
      for (std::uint32_t pid = kFirst; pid < kFirst + kProcesses; ++pid)
        for (std::uint32_t fd = 0; fd <= kDescriptors; ++fd)
          sum += tree.reads("proc/" + std::to_string(pid) + "/fdinfo/" + std::to_string(fd));
      return sum;
    };
    Walker walk(tree);
    CHECK(walk().clients.size() == 5);
    CHECK(reads() == kProcesses * kDescriptors + 5);
    constexpr int kShare = (kProcesses / ClientWalk::kMostWalks + 1) * (kDescriptors + 1) + 5;
    for (int later = 0; later < 2; ++later) {
      CHECK(walk().clients.size() == 5);
      CHECK(reads() <= kShare);
    }
  }
}

TEST_CASE("a process that started since the last walk is scanned twice: it may still be opening its files") {
  LiveTree tree;
  tree.start(7);
  Walker walk(tree);
  (void)walk();
  tree.start(8);
  (void)walk();
  tree.open(8, 0, i915_block(kIgpu, 1));  // closed its only file, and the node got the number
  CHECK(clients_of(walk()) == Clients{"0000:00:02.0 8 1"});
}

TEST_CASE(
    "from its second walk on, a process without a client is not listed, and of others only the clients are read") {
  LiveTree tree;
  tree.start(7);
  tree.open(7, 5, i915_block(kIgpu, 1));
  Walker walk(tree);
  (void)walk();
  (void)tree.reads("proc/7/fdinfo/0");
  int client_reads = 0, other_reads = 0;
  constexpr int kWalks = 3 * ClientWalk::kMostWalks;
  for (int i = 0; i < kWalks; ++i) {
    CHECK(clients_of(walk()) == Clients{"0000:00:02.0 7 1"});
    client_reads += tree.reads("proc/7/fdinfo/5");
    other_reads += tree.reads("proc/7/fdinfo/0");
  }
  CHECK(client_reads == kWalks + 1);  // that of the first walk was not asked for
  CHECK(other_reads <= kWalks);
}

TEST_CASE("a client that an old process opens is found in the next walk, also where the kernel counts no descriptors") {
  bool counts = true;
  SUBCASE("Linux 6.2") {}
  SUBCASE("older") { counts = false; }
  LiveTree tree(counts);
  tree.start(7);
  Walker walk(tree);
  for (int i = 0; i < 5; ++i) CHECK(walk().clients.empty());
  tree.open(7, 5, i915_block(kIgpu, 1));
  CHECK(clients_of(walk()) == Clients{"0000:00:02.0 7 1"});
}

TEST_CASE("a client that no sign shows is found within the stated number of walks") {
  for (const bool counts : {true, false}) {
    CAPTURE(counts);
    constexpr unsigned bound = ClientWalk::kMostWalks;
    for (unsigned walks_before = 1; walks_before < 2 * bound; ++walks_before) {
      LiveTree tree(counts);
      for (std::uint32_t pid = 10; pid < 60; ++pid) tree.start(pid);
      Walker walk(tree);
      for (unsigned i = 0; i < walks_before; ++i) (void)walk();
      tree.open(33, 0, i915_block(kIgpu, 1));  // closed its only file, and the node got the number
      unsigned walks = 1;
      while (walk().clients.empty() && walks <= 2 * bound) ++walks;
      CHECK(walks <= bound);
    }
  }
}

TEST_CASE("where DRM's debugfs is readable, a client that no other sign shows is found in the next walk") {
  LiveTree tree;
  const auto openers = [&tree](std::string_view lines) {
    tree.tree.write("sys/kernel/debug/dri/0/clients",
                    "             command  tgid dev master a   uid      magic\n" + std::string(lines));
  };
  const std::string compositor = "                Xorg    99   0   y    y     0          0\n";
  const std::string opened = "              ffmpeg    33   0   n    n  1000          0\n";
  openers(compositor);
  for (std::uint32_t pid = 10; pid < 60; ++pid) tree.start(pid);
  Walker walk(tree);
  for (int i = 0; i < 5; ++i) (void)walk();
  tree.open(33, 0, i915_block(kIgpu, 1));  // closed its only file, and the node got the number
  openers(compositor + opened);
  CHECK(clients_of(walk()) == Clients{"0000:00:02.0 33 1"});

  // A line that stays, such as that of a process that passed its client on, causes no further scan.
  (void)walk();
  (void)tree.reads("proc/33/fdinfo/0");
  tree.tree.write("proc/33/fdinfo/1", "pos:\t0\n");
  int scans = 0;
  for (unsigned i = 0; i < ClientWalk::kMostWalks / 2; ++i) {
    (void)walk();
    scans += tree.reads("proc/33/fdinfo/1");
  }
  CHECK(scans <= 1);

  // Neither a process that does not exist nor a file that goes does harm.
  openers(compositor + "           <unknown> 77777   0   n    n     0          0\n");
  CHECK(clients_of(walk()) == Clients{"0000:00:02.0 33 1"});
  tree.tree.remove("sys/kernel/debug");
  CHECK(clients_of(walk()) == Clients{"0000:00:02.0 33 1"});
}

TEST_CASE("a walk scans a share of the processes, and its oldest scan is not older than the bound") {
  LiveTree tree;
  for (std::uint32_t pid = 10; pid < 170; ++pid) tree.start(pid);
  Walker walk(tree);
  tree.set_time_per_look(1us);
  (void)walk();
  for (std::uint32_t pid = 10; pid < 170; ++pid) (void)tree.reads("proc/" + std::to_string(pid) + "/fdinfo/0");
  std::vector<Nanoseconds> times;
  for (unsigned i = 0; i < 4 * ClientWalk::kMostWalks; ++i) {
    const ClientSnapshot snapshot = walk();
    times.push_back(snapshot.time);
    int scanned = 0;
    for (std::uint32_t pid = 10; pid < 170; ++pid) scanned += tree.reads("proc/" + std::to_string(pid) + "/fdinfo/0");
    CHECK(scanned == 160 / ClientWalk::kMostWalks);
    REQUIRE(snapshot.oldest_scan);
    if (times.size() > ClientWalk::kMostWalks)
      CHECK(*snapshot.oldest_scan >= times[times.size() - 1 - ClientWalk::kMostWalks]);
  }
}

TEST_CASE("the scan is as old as the walk where every process is scanned") {
  ProcTree tree;
  tree.add_process(7);
  const ClientSnapshot snapshot = Walker(tree)();
  CHECK(snapshot.oldest_scan == snapshot.time);
  CHECK(snapshot.way == "walk");
}

TEST_CASE("another process under a known PID is scanned") {
  LiveTree tree;
  tree.start(7);
  Walker walk(tree);
  for (int i = 0; i < 3; ++i) (void)walk();
  tree.start(7, 2000);
  tree.add_file(7, 0, i915_block(kIgpu, 5));  // as many descriptors as before
  CHECK(clients_of(walk()) == Clients{"0000:00:02.0 7 5"});
}

TEST_CASE("a process that closes a client's descriptor and opens another is scanned again in the same walk") {
  LiveTree tree(false);
  tree.start(7);
  tree.open(7, 5, i915_block(kIgpu, 1));
  tree.open(7, 6, i915_block(kIgpu, 2));
  Walker walk(tree);
  for (int i = 0; i < 3; ++i) CHECK(walk().clients.size() == 2);
  SUBCASE("closed") {
    tree.close(7, 5);
    tree.open(7, 9, i915_block(kIgpu, 3));
    CHECK(clients_of(walk()) == Clients{"0000:00:02.0 7 2", "0000:00:02.0 7 3"});
  }
  SUBCASE("its number now belongs to a file of another type") {
    tree.open(7, 5, "pos:\t0\n");
    tree.open(7, 9, i915_block(kIgpu, 3));
    CHECK(clients_of(walk()) == Clients{"0000:00:02.0 7 2", "0000:00:02.0 7 3"});
  }
  SUBCASE("its number now belongs to another client") {
    tree.open(7, 5, i915_block(kIgpu, 3));
    CHECK(clients_of(walk()) == Clients{"0000:00:02.0 7 2", "0000:00:02.0 7 3"});
  }
}

TEST_CASE("a client whose text is of no use for some walks is there again in the first walk in which it is") {
  LiveTree tree;
  tree.start(7);
  tree.open(7, 5, i915_block(kIgpu, 1));
  Walker walk(tree);
  for (int i = 0; i < 3; ++i) CHECK(walk().clients.size() == 1);
  for (const std::string_view text : {"pos:\t0\n", "", "\xff\xfe:\n::::\n\ndrm-", "drm-driver", "pos:\t0\n"}) {
    tree.open(7, 5, text);
    CHECK(walk().clients.empty());
  }
  tree.open(7, 5, i915_block(kIgpu, 1));
  CHECK(clients_of(walk()) == Clients{"0000:00:02.0 7 1"});
}

TEST_CASE("a process that has ended is forgotten with its clients") {
  LiveTree tree;
  tree.start(7);
  tree.open(7, 5, i915_block(kIgpu, 1));
  Walker walk(tree);
  for (int i = 0; i < 3; ++i) CHECK(walk().clients.size() == 1);
  tree.tree.remove("proc/7");
  const ClientSnapshot snapshot = walk();
  CHECK(snapshot.clients.empty());
  CHECK(snapshot.processes.empty());
  CHECK(snapshot.pids == std::vector<std::uint32_t>{1});
}

TEST_CASE("what a scan could not read stays counted until the next scan of the process") {
  LiveTree tree;
  tree.start(7);
  tree.open(7, 5, "drm-driver:\ti915\ndrm-pdev:\t0000:00:02.0\n");
  Walker walk(tree);
  for (int i = 0; i < 5; ++i) CHECK(walk().blocks_skipped == 1);
  tree.open(7, 5, i915_block(kIgpu, 1));
  const ClientSnapshot snapshot = walk();
  CHECK(snapshot.blocks_skipped == 0);
  CHECK(snapshot.clients.size() == 1);
}

TEST_CASE("a walk that runs out of time still shows the known clients") {
  LiveTree tree;
  for (std::uint32_t pid = 10; pid < 100; ++pid) tree.start(pid);
  tree.open(99, 5, i915_block(kIgpu, 1));
  Walker walk(tree, {.time = 250ms});
  for (int i = 0; i < 3; ++i) (void)walk();
  tree.set_time_per_look(1ms);
  for (std::uint32_t pid = 200; pid < 900; ++pid) tree.start(pid);
  tree.open(899, 5, i915_block(kIgpu, 2));
  int walks = 1;
  while (walk().clients.size() == 1 && walks < 20) ++walks;
  CHECK(walks > 1);
  CHECK(walks < 20);
}

TEST_CASE("where there is no time to examine every process, known clients are shown and new ones are found in time") {
  for (const bool counts : {true, false}) {
    CAPTURE(counts);
    LiveTree tree(counts);
    for (std::uint32_t pid = 10; pid < 410; ++pid) tree.start(pid);
    tree.open(300, 5, i915_block(kIgpu, 1));
    Walker walk(tree, {.time = 100ms});
    for (int i = 0; i < 3; ++i) CHECK(walk().clients.size() == 1);
    tree.set_time_per_look(1ms);
    tree.open(200, 5, i915_block(kIgpu, 2));
    unsigned walks = 0;
    for (std::size_t clients = 1; clients == 1 && walks < 40; ++walks) {
      const ClientSnapshot snapshot = walk();
      clients = snapshot.clients.size();
      CHECK(clients >= 1);
      CHECK_FALSE(snapshot.complete);
      CHECK(snapshot.duration < 110ms);
    }
    CHECK(walks <= 10);  // 400 processes, 50 of them in half of the time
  }
}

TEST_CASE("clients of a GPU that sleeps are not read, and shown again when it wakes") {
  LiveTree tree;
  tree.add_gpu(kIgpu, "i915", "card0", "renderD128");
  tree.add_gpu(kCard, "xe", "card1", "renderD129");
  tree.start(7);
  tree.open(7, 5, i915_block(kIgpu, 1));
  tree.open(7, 6, xe_block(kCard, 2));
  Walker walk(tree);
  for (int i = 0; i < 3; ++i) CHECK(walk().clients.size() == 2);
  (void)tree.reads("proc/7/fdinfo/6");
  for (int i = 0; i < 40; ++i) CHECK(clients_of(walk({kCard})) == Clients{"0000:00:02.0 7 1"});
  CHECK(tree.reads("proc/7/fdinfo/6") == 0);
  CHECK(walk().clients.size() == 2);
}

TEST_SUITE_END();
