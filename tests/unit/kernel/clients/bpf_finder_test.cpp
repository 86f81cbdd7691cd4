// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernel/clients/clients.h"
#include "support/proc_tree.h"

using namespace igpu;
using namespace igpu::test;
using namespace std::chrono_literals;

namespace {

constexpr const char* kGpu = "0000:00:02.0";

// The kernel's account of who has a DRM node open.
class FakeUsers final : public DeviceUsers {
 public:
  Reading<std::vector<std::uint32_t>> list() override {
    ++listings;
    if (refused) return Absent{Reason::permission, EPERM};
    std::sort(holders.begin(), holders.end());
    return holders;
  }
  bool reports_changes() const override { return reports; }
  Changes changes() override { return std::exchange(pending, {}); }

  std::vector<std::uint32_t> holders;
  Changes pending;
  bool reports = true;
  bool refused = false;
  int listings = 0;
};

struct Scene {
  Scene() {
    tree.set_self(1);
    tree.add_process(1);
    tree.set_descriptors(1, 1, 9);
    tree.machine().drm_users = &users;
    finder = make_client_finder(tree.machine());
  }
  void start(std::uint32_t pid) {
    tree.add_process(pid);
    tree.add_file(pid, 0, "pos:\t0\n");
    tree.set_descriptors(pid, ++inodes, 1);
  }
  void open(std::uint32_t pid, std::uint32_t fd, std::uint64_t client) {
    tree.add_file(pid, fd, i915_block(kGpu, client));
    users.holders.push_back(pid);
    if (users.reports) users.pending.processes.push_back(pid);
  }
  std::vector<std::uint64_t> find() {
    auto found = finder->find({});
    REQUIRE(found);
    snapshot = *std::move(found);
    std::vector<std::uint64_t> ids;
    for (const DrmClient& client : snapshot.clients) ids.push_back(client.id);
    return ids;
  }
  using Ids = std::vector<std::uint64_t>;

  ProcTree tree;
  FakeUsers users;
  std::uint64_t inodes = 100;
  std::unique_ptr<ClientFinder> finder;
  ClientSnapshot snapshot;
};
using Ids = Scene::Ids;

}  // namespace

TEST_SUITE_BEGIN("BPF finder");

TEST_CASE("the first scan lists the holders and reads nothing of other processes") {
  Scene scene;
  scene.start(7);
  scene.start(8);
  scene.open(7, 5, 1);
  CHECK(scene.find() == Ids{1});
  CHECK(scene.snapshot.way == "bpf");
  CHECK(scene.snapshot.oldest_scan == scene.snapshot.time);
  CHECK(scene.snapshot.pids == std::vector<std::uint32_t>{7});
  REQUIRE(scene.snapshot.processes.size() == 1);
  CHECK(scene.tree.reads("proc/8/fdinfo/0") == 0);
  CHECK(scene.tree.reads("proc/8/stat") == 0);
}

TEST_CASE("after that only processes that the kernel reports are scanned, and nothing is listed") {
  Scene scene;
  scene.start(7);
  scene.start(8);
  scene.open(7, 5, 1);
  (void)scene.find();
  (void)scene.tree.reads("proc/7/fdinfo/0");
  for (int i = 0; i < 20; ++i) CHECK(scene.find() == Ids{1});
  CHECK(scene.tree.reads("proc/7/fdinfo/0") == 0);
  scene.open(8, 3, 2);
  CHECK(scene.find() == Ids{1, 2});
  CHECK(scene.users.listings == 1);
}

TEST_CASE("lost reports, and time, make it list the holders again") {
  Scene scene;
  scene.start(7);
  (void)scene.find();
  scene.open(7, 5, 1);
  scene.users.pending = {};
  CHECK(scene.find().empty());
  SUBCASE("lost") { scene.users.pending.some_lost = true; }
  SUBCASE("time") {
    scene.tree.set_time_per_look(std::chrono::minutes(5));
    (void)scene.tree.machine().clock.now();
    scene.tree.set_time_per_look(0ns);
  }
  CHECK(scene.find() == Ids{1});
  CHECK(scene.users.listings == 2);
}

TEST_CASE("where the kernel reports nothing, each scan lists the holders and scans those that changed") {
  Scene scene;
  scene.users.reports = false;
  scene.start(7);
  scene.start(8);
  scene.open(7, 5, 1);
  CHECK(scene.find() == Ids{1});
  (void)scene.tree.reads("proc/7/fdinfo/0");
  scene.open(8, 5, 2);
  CHECK(scene.find() == Ids{1, 2});
  CHECK(scene.tree.reads("proc/7/fdinfo/0") == 0);
  scene.open(7, 6, 3);
  CHECK(scene.find() == Ids{1, 3, 2});
  CHECK(scene.tree.reads("proc/7/fdinfo/0") == 1);
  CHECK(scene.users.listings == 3);
}

TEST_CASE("a process that replaces its descriptor without a report is scanned when the known one is gone") {
  Scene scene;
  scene.start(7);
  scene.open(7, 5, 1);
  (void)scene.find();
  scene.tree.tree.remove("proc/7/fdinfo/5");
  scene.tree.add_file(7, 9, i915_block(kGpu, 1));  // dup2()
  CHECK(scene.find() == Ids{1});
}

TEST_CASE("holders stay listed as running until they end") {
  Scene scene;
  scene.start(7);
  scene.open(7, 5, 1);
  (void)scene.find();
  scene.tree.tree.remove("proc/7/fdinfo/5");
  CHECK(scene.find().empty());
  CHECK(scene.snapshot.pids == std::vector<std::uint32_t>{7});
  scene.tree.end(7);
  CHECK(scene.find().empty());
  CHECK(scene.snapshot.pids.empty());
  CHECK(scene.snapshot.shows_all() == !scene.snapshot.pids_hidden);
}

TEST_CASE("if the kernel refuses to list, the walk finds the clients") {
  Scene scene;
  scene.users.refused = true;
  scene.start(7);
  scene.open(7, 5, 1);
  CHECK(scene.find() == Ids{1});
  CHECK(scene.snapshot.way == "walk");
  scene.users.refused = false;
  CHECK(scene.find() == Ids{1});
  CHECK(scene.snapshot.way == "bpf");
}

TEST_SUITE_END();
