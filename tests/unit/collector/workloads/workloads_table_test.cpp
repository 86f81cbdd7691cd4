// SPDX-License-Identifier: Apache-2.0
#include "collector/workloads/workloads_table.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "kernel/clients/client_ledger.h"

using namespace igpu;
using namespace std::chrono_literals;

namespace {

constexpr const char* kGpu = "0000:03:00.0";
constexpr std::size_t kVideo = static_cast<std::size_t>(EngineClass::video);
constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kTicksPerSecond = 100;

// Describes what a scan finds, and hands it to the table. A scan takes place every ten seconds.
class Scene {
 public:
  explicit Scene(std::size_t most = 256) : table(most, 1s) {}

  struct Who {
    std::uint64_t start = 1;
    std::uint32_t parent = 1;
    std::string group;  // "": it belongs to its parent's
    std::uint64_t user_ticks = 0;
  };
  void process(std::uint32_t pid, const Who& who) {
    TreeProcess p;
    p.pid = pid;
    p.parent = who.parent;
    p.start_ticks = who.start;
    p.user_ticks = who.user_ticks;
    p.resident_bytes = 1000;
    processes_.push_back(p);
    if (!who.group.empty()) group_[pid] = who.group;
    snapshot_.pids.push_back(pid);
  }
  // Of a process that was described before.
  DrmClient& client(std::uint32_t pid, std::uint64_t id, std::uint64_t nanoseconds, const std::string& device = kGpu) {
    DrmClient c;
    c.device = device;
    c.id = id;
    c.pid = pid;
    c.time = now;
    c.engines[kVideo].busy_ns = nanoseconds;
    c.engines[kVideo].capacity = 2;
    snapshot_.clients.push_back(std::move(c));
    if (std::none_of(snapshot_.processes.begin(), snapshot_.processes.end(),
                     [&](const ClientProcess& p) { return p.pid == pid; })) {
      ClientProcess p;
      p.pid = pid;
      for (const TreeProcess& process : processes_)
        if (process.pid == pid) p.start_time_ticks = process.start_ticks;
      snapshot_.processes.push_back(std::move(p));
    }
    return snapshot_.clients.back();
  }
  // Process and client at once.
  void user(std::uint32_t pid, const std::string& group, std::uint64_t id, std::uint64_t nanoseconds,
            std::uint64_t start = 1) {
    process(pid, {.start = start, .group = group});
    client(pid, id, nanoseconds);
  }
  void scan() {
    const auto by_pid = [](const auto& a, const auto& b) { return a.pid < b.pid; };
    std::sort(processes_.begin(), processes_.end(), by_pid);
    std::sort(snapshot_.processes.begin(), snapshot_.processes.end(), by_pid);
    std::sort(snapshot_.pids.begin(), snapshot_.pids.end());
    std::stable_sort(snapshot_.clients.begin(), snapshot_.clients.end(), [](const DrmClient& a, const DrmClient& b) {
      return std::tie(a.device, a.pid) < std::tie(b.device, b.pid);
    });
    snapshot_.time = now;
    snapshot_.boot_ticks = ticks();
    ledgers_.count(snapshot_, {}, {});
    std::vector<WorkloadTable::Owner> owners;
    for (const auto& [pid, group] : group_) owners.push_back({pid, {.workload = group, .kind = "comm"}});
    table.advance({snapshot_, owners, processes_, ticks(), all_processes});
    snapshot_ = {};
    processes_.clear();
    group_.clear();
    now += 10s;
  }
  // A user of the GPU, and the scan that finds it.
  void scan_with(std::uint32_t pid, const std::string& group, std::uint64_t id, std::uint64_t nanoseconds,
                 std::uint64_t start = 1) {
    user(pid, group, id, nanoseconds, start);
    scan();
  }
  std::uint64_t ticks() const { return static_cast<std::uint64_t>(now / 1s) * kTicksPerSecond; }
  ClientSnapshot& snapshot() { return snapshot_; }

  const WorkloadTable::Workload* find(const std::string& name) const {
    for (const WorkloadTable::Workload* workload : table.workloads())
      if (workload->labels.workload == name) return workload;
    return nullptr;
  }
  double busy(const std::string& name, const std::string& device = kGpu) const {
    const auto* workload = find(name);
    if (workload == nullptr || !workload->devices.contains(device)) return -1;
    return workload->devices.at(device).busy[kVideo];
  }
  double sum() const {
    double all = 0;
    for (const WorkloadTable::Workload* workload : table.workloads())
      for (const auto& [address, device] : workload->devices) all += device.busy[kVideo];
    return all;
  }

  double unattributed() const { return table.unattributed().at(kGpu)[kVideo].value_or(-1); }

  bool all_processes = true;
  WorkloadTable table;
  Nanoseconds now = 1000s;

 private:
  ClientSnapshot snapshot_;
  ClientLedgers ledgers_;
  std::vector<TreeProcess> processes_;
  std::map<std::uint32_t, std::string> group_;
};

WorkloadTable::Measured5 video(double seconds) {
  WorkloadTable::Measured5 all{};
  all[kVideo] = seconds;
  return all;
}

}  // namespace

TEST_SUITE_BEGIN("workload table");

TEST_CASE("a client that is there at the first scan counts from then on") {
  Scene scene;
  scene.scan_with(7, "a", 1, 500 * kSecond);
  CHECK(scene.busy("a") == 0);
  CHECK(scene.find("a")->started == 0);
  scene.scan_with(7, "a", 1, 504 * kSecond);
  CHECK(scene.busy("a") == 4);
  CHECK(scene.find("a")->devices.at(kGpu).ratio[kVideo]->value == doctest::Approx(0.2));  // of two engines
}

TEST_CASE("a later client counts whole, and as one that began") {
  Scene scene;
  scene.scan();
  scene.scan_with(7, "a", 1, 3 * kSecond);
  CHECK(scene.busy("a") == 3);
  CHECK(scene.find("a")->started == 1);
}

TEST_CASE("a client with more time on it than fits since the last scan was there before, and counts from now") {
  Scene scene;
  scene.scan();
  scene.scan_with(7, "a", 1, 3600 * kSecond);
  CHECK(scene.busy("a") == 0);
  CHECK(scene.find("a")->started == 0);
}

TEST_CASE("after a scan that was cut short a client counts from now, unless its process is younger than that scan") {
  Scene scene;
  scene.scan();
  scene.snapshot().complete = false;
  const std::uint64_t last = scene.ticks();
  scene.scan();
  scene.user(7, "old", 1, 3 * kSecond);
  scene.scan_with(8, "young", 2, 3 * kSecond, last + 1);
  CHECK(scene.busy("old") == 0);
  CHECK(scene.busy("young") == 3);
}

TEST_CASE("a process that began since the last whole scan counts whole, however many scans were cut short since") {
  Scene scene;
  scene.scan();
  const std::uint64_t begin = scene.ticks() - 1;
  for (int i = 0; i < 3; ++i) {
    scene.snapshot().complete = false;
    scene.process(7, {.start = begin, .group = "bomb"});
    scene.scan();
  }
  scene.scan_with(7, "bomb", 1, 3 * kSecond, begin);
  CHECK(scene.busy("bomb") == 3);
  CHECK(scene.find("bomb")->started == 1);
}

TEST_CASE("what ended processes and closed clients used stays") {
  Scene scene;
  scene.scan();
  scene.scan_with(7, "a", 1, 3 * kSecond);
  for (int i = 0; i < 200; ++i) scene.scan();
  CHECK(scene.busy("a") == 3);
  CHECK(scene.find("a")->processes == 0);
  CHECK(scene.find("a")->resident_bytes == 0);
  CHECK(scene.find("a")->devices.at(kGpu).clients == 0);
  CHECK(scene.find("a")->devices.at(kGpu).ratio[kVideo]->value == 0);
  scene.scan_with(9, "a", 2, kSecond, scene.ticks());
  CHECK(scene.busy("a") == 4);
}

TEST_CASE("two clients of a workload add up, on two GPUs apart") {
  Scene scene;
  scene.scan();
  scene.user(7, "a", 1, kSecond);
  scene.process(8, {.group = "a"});
  scene.client(8, 2, 2 * kSecond);
  scene.client(8, 2, 4 * kSecond, "0000:04:00.0");
  scene.scan();
  CHECK(scene.busy("a") == 3);
  CHECK(scene.busy("a", "0000:04:00.0") == 4);
  CHECK(scene.find("a")->processes == 2);
  CHECK(scene.find("a")->devices.at(kGpu).clients == 2);
  CHECK(scene.find("a")->started == 3);
}

TEST_CASE("exec, another cgroup: what follows belongs to the new workload, and nothing is counted twice") {
  Scene scene;
  scene.scan_with(7, "sh", 1, 0);
  scene.scan_with(7, "sh", 1, kSecond);
  scene.scan_with(7, "ffmpeg", 1, 3 * kSecond);
  CHECK(scene.busy("sh") == 1);
  CHECK(scene.busy("ffmpeg") == 2);
  CHECK(scene.find("ffmpeg")->started == 0);
}

TEST_CASE("fork, SCM_RIGHTS: a client that goes over to another holder takes its count along once") {
  Scene scene;
  scene.scan_with(7, "compositor", 1, 0);
  scene.scan_with(7, "compositor", 1, kSecond);
  scene.user(9, "app", 1, 4 * kSecond);  // the one that opened it has ended
  scene.scan();
  CHECK(scene.busy("compositor") == 1);
  CHECK(scene.busy("app") == 3);
  CHECK(scene.sum() == 4);
}

TEST_CASE("a PID that is used again, with an id that is given again, is another client") {
  Scene scene;
  scene.scan_with(7, "a", 1, 0);
  scene.scan_with(7, "a", 1, 9 * kSecond);
  scene.scan_with(7, "b", 1, 2 * kSecond, scene.ticks() - 1);
  CHECK(scene.busy("a") == 9);
  CHECK(scene.busy("b") == 2);
  CHECK(scene.find("b")->started == 1);
}

TEST_CASE("a step back is held, and never lowers a count") {
  Scene scene;
  scene.scan_with(7, "a", 1, 0);
  for (const std::uint64_t value : {5 * kSecond, 5 * kSecond - 100'000'000, 6 * kSecond}) {
    scene.scan_with(7, "a", 1, value);
    CHECK(scene.busy("a") >= 5);
  }
  CHECK(scene.busy("a") == 6);
}

TEST_CASE("a client that was hidden while its GPU slept goes on, however long that was") {
  Scene scene;
  scene.scan_with(7, "a", 1, 0);
  scene.scan_with(7, "a", 1, kSecond);
  for (int i = 0; i < 200; ++i) {
    scene.process(7, {.group = "a"});
    scene.scan();
  }
  scene.scan_with(7, "a", 1, kSecond + kSecond / 2);
  CHECK(scene.busy("a") == 1.5);
}

TEST_CASE("xe: cycles wait until the clock's rate is known, and none is lost") {
  Scene scene;
  const auto xe = [&](std::uint64_t cycles) {
    scene.process(7, {.group = "a"});
    DrmClient& client = scene.client(7, 1, 0);
    client.engines[kVideo] = {};
    client.engines[kVideo].cycles = cycles;
    client.engines[kVideo].total_cycles = static_cast<std::uint64_t>(scene.now / 1s) * 19'200'000;
    scene.scan();
  };
  scene.scan();
  xe(19'200'000);
  CHECK(scene.busy("a") == 0);
  xe(3 * 19'200'000);
  CHECK(scene.busy("a") == doctest::Approx(3));
}

TEST_CASE("a shell script and its children are one workload") {
  Scene scene;
  scene.process(7, {.group = "channel"});
  scene.scan();
  const std::uint64_t young = scene.ticks() - 500;
  scene.process(7, {.group = "channel"});
  scene.process(8, {.start = young, .parent = 7, .user_ticks = 40});
  scene.process(9, {.start = young, .parent = 8, .user_ticks = 200});
  scene.client(9, 1, 2 * kSecond);
  scene.process(50, {.start = young, .parent = 1, .user_ticks = 999});  // of no workload
  scene.scan();
  REQUIRE(scene.find("channel"));
  CHECK(scene.find("channel")->user_ticks == 240);
  CHECK(scene.find("channel")->processes == 3);
  CHECK(scene.find("channel")->resident_bytes == 3000);
  CHECK(scene.busy("channel") == 2);
  CHECK(scene.table.workloads().size() == 1);
}

TEST_CASE("the table knows the workload of each process of the last scan, also of one that it folded") {
  Scene scene(1);
  scene.process(10, {.group = "script"});
  scene.process(11, {.parent = 10});
  scene.process(12, {});
  scene.scan();
  REQUIRE(scene.table.workload_of(11));
  CHECK(*scene.table.workload_of(11) == "script");
  CHECK(scene.table.workload_of(12) == nullptr);
  scene.process(20, {.group = "one"});
  scene.process(21, {.parent = 20});
  scene.process(30, {.group = "two"});
  scene.scan();
  CHECK(*scene.table.workload_of(21) == "other");
  CHECK(scene.table.workload_of(11) == nullptr);  // it ended
}

TEST_CASE("a child that has a workload of its own counts there, and its children with it") {
  Scene scene;
  scene.scan();
  const std::uint64_t young = scene.ticks();
  scene.process(7, {.start = young, .group = "outer", .user_ticks = 1});
  scene.process(8, {.start = young, .parent = 7, .group = "inner", .user_ticks = 2});
  scene.process(9, {.start = young, .parent = 8, .user_ticks = 4});
  scene.scan();
  CHECK(scene.find("outer")->user_ticks == 1);
  CHECK(scene.find("inner")->user_ticks == 6);
}

TEST_CASE("a scan that lacks processes loses none of what they use") {
  Scene scene;
  scene.scan();
  const std::uint64_t young = scene.ticks();
  scene.process(7, {.start = young, .group = "a", .user_ticks = 10});
  scene.scan();
  scene.all_processes = false;
  scene.scan();
  CHECK(scene.find("a")->user_ticks == 10);
  CHECK(scene.find("a")->processes == 1);
  scene.all_processes = true;
  scene.process(7, {.start = young, .group = "a", .user_ticks = 25});
  scene.scan();
  CHECK(scene.find("a")->user_ticks == 25);
}

TEST_CASE("memory is what is held now") {
  Scene scene;
  scene.process(7, {.group = "a"});
  ClientMemory memory;
  memory.region = "local0";
  memory.resident = 4096;
  scene.client(7, 1, 0).memory = {memory};
  scene.client(7, 2, 0).memory = {memory};
  scene.scan();
  CHECK(scene.find("a")->devices.at(kGpu).memory.at({"local0", "resident"}) == 8192);
  CHECK_FALSE(scene.find("a")->devices.at(kGpu).memory.contains({"local0", "total"}));
  scene.scan();
  CHECK(scene.find("a")->devices.at(kGpu).memory.empty());
}

TEST_CASE("workloads beyond the limit fold into other, and no second is lost") {
  Scene scene(2);
  scene.scan();
  for (std::uint32_t i = 0; i < 4; ++i)
    scene.user(10 + i, "w" + std::to_string(i), i + 1, (i + 1) * kSecond, scene.ticks() - 1);
  scene.scan();
  CHECK(scene.table.workloads().size() == 3);
  CHECK(scene.busy("w3") == 4);
  CHECK(scene.busy("w2") == 3);
  CHECK(scene.busy("other") == 3);
  CHECK(scene.find("other")->processes == 2);
  CHECK(scene.find("other")->started == 2);
  CHECK(scene.find("w0") == nullptr);

  // One that was folded stays: its series would begin again at zero.
  scene.scan_with(10, "w0", 1, 9 * kSecond);
  CHECK(scene.busy("other") == 11);
  CHECK(scene.find("w0") == nullptr);
  CHECK(scene.sum() == 18);
}

TEST_CASE("a flood of short workloads leaves the table bounded, and its sum right") {
  Scene scene(16);
  scene.scan();
  for (std::uint32_t i = 0; i < 5000; ++i) {
    scene.scan_with(100 + i, "w" + std::to_string(i), i + 1, kSecond, scene.ticks() - 1);
    CHECK(scene.table.workloads().size() <= 17);
  }
  CHECK(scene.sum() == doctest::Approx(5000));
}

TEST_CASE("what the PMU measured and no workload explains is unattributed: workloads and it add up to the PMU") {
  Scene scene;
  scene.scan_with(7, "a", 1, 100 * kSecond);
  scene.table.measured(kGpu, video(777));  // counted before us
  CHECK(scene.unattributed() == 0);
  scene.scan_with(7, "a", 1, 104 * kSecond);
  scene.table.measured(kGpu, video(777 + 9));
  CHECK(scene.unattributed() == doctest::Approx(5));
  CHECK(scene.sum() + scene.unattributed() == doctest::Approx(9));
}

TEST_CASE("what is unattributed never falls, and one late reading does not add up") {
  Scene scene;
  scene.scan_with(7, "a", 1, 0);
  scene.table.measured(kGpu, video(0));
  double before = 0;
  for (std::uint64_t i = 1; i <= 100; ++i) {
    scene.user(7, "a", 1, i * kSecond - (i % 2) * kSecond / 100);  // every other reading is a little behind
    scene.scan();
    scene.table.measured(kGpu, video(static_cast<double>(i)));
    const double now = scene.unattributed();
    CHECK(now >= before);
    before = now;
  }
  CHECK(before <= 0.0101);
}

TEST_CASE("whatever comes, goes, moves and is folded: no second is lost, and no counter steps back") {
  for (unsigned seed = 0; seed < 50; ++seed) {
    CAPTURE(seed);
    std::minstd_rand random(seed);
    const auto below = [&](std::size_t most) { return random() % most; };
    Scene scene(1 + below(6));
    scene.scan();
    struct Running {
      std::uint32_t pid;
      std::string group;
      std::uint64_t start, used = 0;
    };
    std::vector<Running> running;
    std::map<std::string, double> before;
    std::uint32_t next = 100;
    std::uint64_t used = 0;
    for (int step = 0; step < 60; ++step) {
      if (running.size() < 12 && below(2) == 0)
        running.push_back({next++, "w" + std::to_string(below(20)), scene.ticks() - 1, 0});
      if (!running.empty() && below(4) == 0)
        running.erase(running.begin() + static_cast<std::ptrdiff_t>(below(running.size())));
      if (!running.empty() && below(4) == 0) running[below(running.size())].group = "w" + std::to_string(below(20));
      for (Running& process : running) {
        const std::uint64_t gain = below(3) * kSecond;
        process.used += gain;
        used += gain;
        scene.user(process.pid, process.group, process.pid, process.used, process.start);
      }
      scene.scan();
      CHECK(scene.sum() == doctest::Approx(static_cast<double>(used) / 1e9));
      std::map<std::string, double> now;
      for (const WorkloadTable::Workload* workload : scene.table.workloads())
        now[workload->labels.workload] = scene.busy(workload->labels.workload);
      for (const auto& [name, seconds] : now)
        if (before.contains(name)) CHECK(seconds >= before[name]);
      for (const auto& [name, seconds] : before)
        if (!now.contains(name)) CHECK(now["other"] >= before["other"] + seconds);
      before = std::move(now);
    }
  }
}

TEST_CASE("labels are those of the last scan, of the kind that came first") {
  WorkloadTable table(256, 1s);
  ClientSnapshot snapshot;
  const TreeProcess process{.pid = 7};
  const auto scan = [&](const WorkloadLabels& labels) {
    snapshot.time += 10s;
    const WorkloadTable::Owner owner{process.pid, labels};
    table.advance({snapshot, {&owner, 1}, {&process, 1}, 1});
    return table.workloads().at(0)->labels;
  };
  CHECK(scan({.workload = "a", .kind = "container", .container_id = "1"}).container_id == "1");
  CHECK(scan({.workload = "a", .kind = "container", .container_id = "2"}).container_id == "2");
  CHECK(scan({.workload = "a", .kind = "comm"}).container_id == "2");
  CHECK(table.workloads().size() == 1);
}

TEST_CASE("folding changes nothing of what is attributed") {
  Scene scene(1);
  scene.scan();
  scene.table.measured(kGpu, video(0));
  for (std::uint32_t i = 0; i < 3; ++i) scene.user(10 + i, "w" + std::to_string(i), i + 1, kSecond, scene.ticks() - 1);
  scene.scan();
  scene.table.measured(kGpu, video(3));
  CHECK(scene.unattributed() == doctest::Approx(0));
  CHECK(scene.sum() == doctest::Approx(3));
}

TEST_SUITE_END();
