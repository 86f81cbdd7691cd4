// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cerrno>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "collector/collectors.h"
#include "collector/engines/engines_facts.h"
#include "collector/jobs/jobs_facts.h"
#include "kernel/clients/client_ledger.h"
#include "kernel/clients/client_walk.h"
#include "kernel/clients/workload_naming.h"
#include "support/fake_job_counters.h"
#include "support/fixed_rules.h"
#include "support/proc_tree.h"
#include "support/test_machine.h"

using namespace igpu;
using namespace std::chrono_literals;

namespace {

const std::string kGpu = "0000:00:02.0";
constexpr const char* kBusy = "intel_gpu_workload_engine_busy_seconds_total";

struct Spec {
  std::string comm = "ffmpeg";
  std::uint32_t parent = 1;
  std::uint64_t start = 1;
  std::uint64_t user_ticks = 0;
  std::string cgroup = "0::/\n";
};

// Processes as files; found by the real walk, counted by the real search for trees.
class Scene {
 public:
  explicit Scene(const test::MachineGiven& given = {})
      : workloads_(test::make_collector(workloads_collector, tree.machine(), log_, given)) {}

  void process(std::uint32_t pid, const Spec& spec = {}) {
    tree.add_process(pid, {.comm = spec.comm, .start_time_ticks = spec.start, .cgroup = spec.cgroup});
    tree.tree.write("proc/" + std::to_string(pid) + "/stat", std::to_string(pid) + " (" + spec.comm + ") S " +
                                                                 std::to_string(spec.parent) + " 1 1 0 -1 0 0 0 0 0 " +
                                                                 std::to_string(spec.user_ticks) + " 7 0 0 20 0 1 0 " +
                                                                 std::to_string(spec.start) + " 8192 2 0\n");
  }
  void client(std::uint32_t pid, std::uint32_t fd, std::uint64_t id, int video_seconds) {
    tree.add_file(pid, fd,
                  test::i915_block(kGpu, id,
                                   "drm-engine-video:\t" + std::to_string(video_seconds) +
                                       "000000000 ns\ndrm-resident-system0:\t4 KiB\n"));
  }
  // A scan that ends early: clients that it has not reached are missing.
  void scan_in_part() {
    complete = false;
    scan();
    complete = true;
  }
  // A scrape without the clients: /proc is gone, or may not be read.
  void scrape_without(Reading<ClientSnapshot> outcome) { collect(std::move(outcome)); }
  void scan() {
    tree.set_boot_time(std::chrono::seconds(uptime));
    const auto snapshot = walk_.find({});
    REQUIRE(snapshot);
    ClientSnapshot moved = *snapshot;
    moved.time = std::chrono::seconds(uptime);
    moved.complete = complete;
    collect(std::move(moved));
  }
  using Labels = std::initializer_list<std::pair<std::string_view, std::string_view>>;
  std::optional<double> value(std::string_view metric, Labels labels = {}) const {
    std::optional<double> found;
    for (const auto& sample : sink.samples().samples()) {
      bool matches = sample.metric->name == metric;
      for (const auto& [name, wanted] : labels) {
        bool same = false;
        for (std::size_t i = 0; i < sample.metric->label_count; ++i)
          same = same || (sample.metric->label_names[i] == name && sink.samples().label_value(sample, i) == wanted);
        matches = matches && same;
      }
      if (!matches) continue;
      CHECK_FALSE(found);  // no series twice
      found = sample.value;
    }
    return found;
  }

  test::ProcTree tree;
  std::uint64_t uptime = 1000;
  bool complete = true;
  std::vector<std::string> asleep;
  std::vector<Gpu> gpus;
  std::map<std::string, EngineSeconds> measured;
  CountedJobsByDevice jobs;
  SampleSink sink;

 private:
  void collect(Reading<ClientSnapshot> clients) {
    sink.clear();
    test::TestMachinePass pass(tree.machine().clock);
    if (clients) ledgers_.count(*clients, gpus, asleep);
    pass.snapshot = std::move(clients);
    pass.bound = gpus;
    pass.sleeping = asleep;
    for (const auto& [device, seconds] : measured) pass.facts().put(device, seconds);
    for (const auto& [device, counted] : jobs) pass.facts().put(device, counted);
    workloads_->collect(pass, sink);
    uptime += 10;
  }

  ClientWalk walk_{tree.machine(), {}};
  ClientLedgers ledgers_;
  test::RecordingLog log_;
  const std::unique_ptr<MachineCollector> workloads_;
};

}  // namespace

TEST_SUITE_BEGIN("workloads");

TEST_CASE("a tree is a process, with or without a name") {
  const auto accepts = [](const char* tree) {
    try {
      (void)OptionValues(workloads_collector().info->options, {{"workload.tree", {tree}}});
      return true;
    } catch (const OptionError&) {
      return false;
    }
  };
  for (const char* good : {"7", "news=7", "a=b=7"}) CHECK(accepts(good));
  for (const char* bad : {"=7", "news=", "news", "news=0", "news= 7", "-1", "7x"}) CHECK_FALSE(accepts(bad));
}

TEST_CASE("a unit's processes and those below them are one workload, in every metric of it") {
  Scene scene;
  scene.scan();
  const std::uint64_t young = (scene.uptime - 5) * 100;
  const std::string cgroup = "0::/system.slice/packager@7.service\n";
  scene.process(7, {.start = young, .user_ticks = 150, .cgroup = cgroup});
  scene.process(8, {.comm = "helper", .parent = 7, .start = young, .user_ticks = 50, .cgroup = cgroup});
  scene.tree.tree.write("proc/8/io", "read_bytes: 4096\nwrite_bytes: 512\n");
  scene.client(7, 3, 1, 2);
  scene.client(7, 4, 1, 2);  // a copy of the descriptor
  scene.client(7, 5, 2, 1);
  scene.scan();
  const std::string name = "packager@7.service";
  CHECK(scene.value(kBusy, {{"workload", name}, {"class", "video"}, {"device", kGpu}}) == 3);
  CHECK(scene.value("intel_gpu_workload_clients", {{"workload", name}}) == 2);
  CHECK(scene.value("intel_gpu_workload_started_total", {{"workload", name}}) == 2);
  CHECK(scene.value("intel_gpu_workload_memory_bytes",
                    {{"workload", name}, {"memory_region", "system0"}, {"state", "resident"}}) == 8192);
  CHECK(scene.value("intel_gpu_workload_processes", {{"workload", name}}) == 2);
  CHECK(scene.value("intel_gpu_workload_cpu_seconds_total", {{"workload", name}, {"mode", "user"}}) == 2);
  CHECK(scene.value("intel_gpu_workload_cpu_seconds_total", {{"workload", name}, {"mode", "system"}}) ==
        doctest::Approx(0.14));
  CHECK(scene.value("intel_gpu_workload_resident_memory_bytes", {{"workload", name}}) == 4 * 4096);
  CHECK(scene.value("intel_gpu_workload_disk_read_bytes_total", {{"workload", name}}) == 4096);
  CHECK(scene.value("intel_gpu_workload_disk_written_bytes_total", {{"workload", name}}) == 512);
  CHECK(scene.value("intel_gpu_workload_info",
                    {{"workload", name}, {"kind", "systemd_unit"}, {"systemd_unit", name}}) == 1);

  scene.tree.tree.remove("proc/7");
  scene.tree.tree.remove("proc/8");
  scene.scan();
  CHECK(scene.value(kBusy, {{"workload", name}, {"class", "video"}}) == 3);
  CHECK(scene.value("intel_gpu_workload_cpu_seconds_total", {{"workload", name}, {"mode", "user"}}) == 2);
  CHECK(scene.value("intel_gpu_workload_processes", {{"workload", name}}) == 0);
  CHECK(scene.value("intel_gpu_workload_clients", {{"workload", name}}) == 0);
}

// lxcfs writes the age of the container into /proc/uptime; start times stay those of the host.
TEST_CASE("in an LXC container a process that is older than the container counts from the first scan on") {
  Scene scene;
  scene.tree.tree.write("proc/uptime", "12.00 5.00\n");
  scene.scan();
  scene.process(7, {.start = 50'000, .user_ticks = 105'000});
  scene.client(7, 3, 1, 4000);
  scene.scan();
  CHECK(scene.value("intel_gpu_workload_cpu_seconds_total", {{"workload", "ffmpeg"}, {"mode", "user"}}) == 0);
  CHECK(scene.value(kBusy, {{"workload", "ffmpeg"}}) == 0);
  CHECK(scene.value("intel_gpu_workload_started_total", {{"workload", "ffmpeg"}}) == 0);
}

TEST_CASE("workloads that cannot be counted have a reason, not only no series") {
  Scene scene;
  const auto state = [&]() -> std::optional<Absent> {
    for (const auto& feature : scene.sink.features())
      if (feature.feature->name == "workloads") return feature.available ? std::nullopt : std::optional(feature.absent);
    FAIL("no feature");
    return std::nullopt;
  };
  scene.scan();
  CHECK_FALSE(state());
  scene.scrape_without(Absent{Reason::kernel, ENOENT});
  CHECK(state() == Absent{Reason::kernel, ENOENT});
}

TEST_CASE("bytes that nobody may read are absent") {
  Scene scene;
  scene.process(7);
  scene.client(7, 3, 1, 2);
  scene.scan();
  CHECK(scene.value("intel_gpu_workload_processes", {{"workload", "ffmpeg"}}) == 1);
  CHECK_FALSE(scene.value("intel_gpu_workload_disk_read_bytes_total"));
}

TEST_CASE("rules group by ancestor and program") {
  test::MachineGiven given;
  given.rules = std::make_shared<test::FixedRules>(WorkloadRules{
      {.name = "channel {ancestor:1}", .ancestor = {"packager-*"}}, {.name = "{exe:1}", .exe = {"/usr/bin/*"}}});
  Scene scene(given);
  scene.process(5, {.comm = "packager-news"});
  scene.process(6, {.comm = "sh", .parent = 5});
  scene.process(7, {.parent = 6});
  scene.client(7, 3, 1, 2);
  scene.process(9, {.comm = "renamed"});
  scene.tree.tree.link("proc/9/exe", "/usr/bin/mpv");
  scene.client(9, 3, 2, 1);
  scene.scan();
  CHECK(scene.value("intel_gpu_workload_info", {{"workload", "channel news"}, {"kind", "rule"}}) == 1);
  CHECK(scene.value("intel_gpu_workload_info", {{"workload", "mpv"}, {"kind", "rule"}}) == 1);
}

TEST_CASE("a tree without a name is called by its PID; a name may hold the sign that ends it") {
  test::MachineGiven given;
  given.options["workload.tree"] = {"7", "a=b=8"};
  Scene scene(given);
  scene.process(7);
  scene.process(8);
  scene.scan();
  CHECK(scene.value("intel_gpu_workload_processes", {{"workload", "tree 7"}}) == 1);
  CHECK(scene.value("intel_gpu_workload_processes", {{"workload", "a=b"}}) == 1);
}

TEST_CASE("a tree takes all below its root, whatever else they are, until the PID is another process'") {
  test::MachineGiven given;
  given.options["workload.tree"] = {"news=5"};
  Scene scene(given);
  scene.process(5, {.comm = "sh"});
  scene.scan();
  CHECK(scene.value("intel_gpu_workload_processes", {{"workload", "news"}}) == 1);
  const std::uint64_t young = (scene.uptime - 5) * 100;
  scene.process(5, {.comm = "sh", .user_ticks = 25});
  scene.process(7, {.parent = 5, .start = young, .user_ticks = 75, .cgroup = "0::/system.slice/x.service\n"});
  scene.client(7, 3, 1, 2);
  scene.scan();
  CHECK(scene.value(kBusy, {{"workload", "news"}}) == 2);
  CHECK(scene.value("intel_gpu_workload_cpu_seconds_total", {{"workload", "news"}, {"mode", "user"}}) == 1);
  CHECK(scene.value("intel_gpu_workload_info", {{"workload", "news"}, {"kind", "tree"}}) == 1);
  CHECK_FALSE(scene.value("intel_gpu_workload_info", {{"workload", "x.service"}}));

  scene.tree.tree.remove("proc/7");
  scene.process(5, {.comm = "other", .start = scene.uptime * 100 - 1, .user_ticks = 500});
  scene.scan();
  CHECK(scene.value("intel_gpu_workload_cpu_seconds_total", {{"workload", "news"}, {"mode", "user"}}) == 1);
  CHECK(scene.value("intel_gpu_workload_processes", {{"workload", "news"}}) == 0);
}

TEST_CASE("of a GPU that sleeps its counters stay, and nothing is said of now") {
  Scene scene;
  scene.scan();
  scene.process(7, {.start = scene.uptime * 100 - 1});
  scene.client(7, 3, 1, 2);
  scene.scan();
  scene.asleep = {kGpu};
  scene.scan();
  CHECK(scene.value(kBusy, {{"workload", "ffmpeg"}}) == 2);
  CHECK_FALSE(scene.value("intel_gpu_workload_clients"));
  CHECK_FALSE(scene.value("intel_gpu_workload_memory_bytes"));
  CHECK_FALSE(scene.value("intel_gpu_workload_engine_busy_ratio"));
  CHECK(scene.value("intel_gpu_workload_started_total", {{"workload", "ffmpeg"}}) == 1);
}

TEST_CASE("workloads and what is unattributed add up to what the PMU counted") {
  Scene scene;
  constexpr auto kVideo = static_cast<std::size_t>(EngineClass::video);
  scene.process(7);
  scene.client(7, 3, 1, 100);
  scene.measured[kGpu][kVideo] = 500;
  scene.scan();
  CHECK(scene.value(kBusy, {{"workload", "unattributed"}, {"class", "video"}}) == 0);
  CHECK_FALSE(scene.value(kBusy, {{"workload", "unattributed"}, {"class", "render"}}));
  scene.client(7, 3, 1, 103);
  scene.measured[kGpu][kVideo] = 508;
  scene.scan();
  CHECK(scene.value(kBusy, {{"workload", "ffmpeg"}}) == 3);
  CHECK(scene.value(kBusy, {{"workload", "unattributed"}}) == 5);
}

TEST_CASE("xe: with access to the render node cycles are seconds in the first scan that shows them") {
  Scene scene;
  scene.tree.set_clock("renderD128", 19'200'000);
  Gpu gpu;
  gpu.address = kGpu;
  gpu.driver = Driver::xe;
  gpu.render_node = "renderD128";
  scene.gpus = {gpu};
  scene.scan();
  scene.process(7, {.start = scene.uptime * 100 - 1});
  scene.tree.add_file(7, 3, test::xe_block(kGpu, 1, "drm-cycles-vcs:\t38400000\ndrm-total-cycles-vcs:\t9000000000\n"));
  SUBCASE("awake") {
    scene.scan();
    CHECK(scene.value(kBusy, {{"workload", "ffmpeg"}}) == 2);
  }
  SUBCASE("a GPU that sleeps is not asked") {
    scene.asleep = {kGpu};
    scene.scan();
    CHECK(scene.value(kBusy, {{"workload", "ffmpeg"}}) == 0);
  }
}

TEST_CASE("jobs are counted by workload, for the processes below a client's holder too") {
  Scene scene;
  test::FakeJobCounters kernel;
  scene.tree.machine().job_counters = &kernel;
  scene.jobs[kGpu] = {&kernel};
  scene.process(20, {.comm = "encoder", .start = 700});
  scene.process(21, {.comm = "helper", .parent = 20, .start = 701});
  scene.client(20, 3, 1, 1);
  std::uint64_t* const holder = kernel.add_process_group(kGpu, JOB_SOURCE_I915, JOB_CLASS_VIDEO, 20, 700);
  std::uint64_t* const child = kernel.add_process_group(kGpu, JOB_SOURCE_I915, JOB_CLASS_VIDEO, 21, 701);
  holder[JOB_OUTCOME + JOB_COMPLETED] = holder[JOB_RUN + 2] = holder[JOB_QUEUE + 1] = 5;
  holder[JOB_RUN_NS] = 2'000'000'000;
  child[JOB_OUTCOME + JOB_BOUND] = 3;
  child[JOB_OUTCOME + JOB_ERROR] = 4;
  scene.scan();
  const Scene::Labels encoder{{"device", kGpu}, {"workload", "encoder"}, {"class", "video"}, {"source", "i915"}};
  CHECK(scene.value("intel_gpu_workload_job_run_seconds", encoder) == 2);
  CHECK(scene.value("intel_gpu_workload_job_queue_seconds", encoder) == 0);
  CHECK(scene.value("intel_gpu_workload_jobs_total", {{"workload", "encoder"}, {"outcome", "completed"}}) == 5);
  CHECK(scene.value("intel_gpu_workload_jobs_total", {{"workload", "encoder"}, {"outcome", "bound"}}) == 3);
  CHECK_FALSE(scene.value("intel_gpu_workload_jobs_total", {{"outcome", "long_running"}}));
  CHECK(scene.value("intel_gpu_workload_video_jobs_total", {{"device", kGpu}, {"workload", "encoder"}}) == 8);
  // Not in this scrape: what was counted stays.
  scene.jobs.clear();
  scene.scan();
  CHECK(scene.value("intel_gpu_workload_jobs_total", {{"workload", "encoder"}, {"outcome", "completed"}}) == 5);
}

TEST_CASE("a process that is hidden for one scan loses none of its engine time") {
  Scene scene;
  scene.process(7, {.user_ticks = 10});
  scene.client(7, 3, 1, 1);
  scene.scan();
  scene.process(7, {.user_ticks = 60});
  scene.client(7, 3, 1, 4);
  scene.tree.tree.move("proc/7", "hidden");
  scene.scan();
  scene.tree.tree.move("hidden", "proc/7");
  scene.scan();
  CHECK(scene.value(kBusy, {{"workload", "ffmpeg"}}) == 3);
}

TEST_CASE("while the clients or /proc are gone, counters stay and nothing is said of now; then all of it counts") {
  Scene scene;
  scene.process(7, {.user_ticks = 100});
  scene.client(7, 3, 1, 1);
  scene.scan();
  scene.process(7, {.user_ticks = 150});
  scene.client(7, 3, 1, 4);
  scene.scan();
  const auto check_counters = [&] {
    CHECK(scene.value(kBusy, {{"workload", "ffmpeg"}}) == 3);
    CHECK(scene.value("intel_gpu_workload_cpu_seconds_total", {{"workload", "ffmpeg"}, {"mode", "user"}}) == 0.5);
    CHECK(scene.value("intel_gpu_workload_info", {{"workload", "ffmpeg"}}) == 1);
    for (const char* gauge :
         {"intel_gpu_workload_clients", "intel_gpu_workload_memory_bytes", "intel_gpu_workload_engine_busy_ratio",
          "intel_gpu_workload_processes", "intel_gpu_workload_resident_memory_bytes"})
      CHECK_FALSE(scene.value(gauge));
  };
  scene.scrape_without(Absent{Reason::permission, EACCES});
  check_counters();
  CHECK(scene.sink.failures().empty());
  scene.scrape_without(Failure{std::make_error_code(std::errc::io_error), "proc"});
  check_counters();
  CHECK(scene.sink.failures().size() == 1);
  scene.client(7, 3, 1, 9);
  scene.process(7, {.user_ticks = 250});
  scene.scan();
  CHECK(scene.value(kBusy, {{"workload", "ffmpeg"}}) == 8);
  CHECK(scene.value("intel_gpu_workload_cpu_seconds_total", {{"workload", "ffmpeg"}, {"mode", "user"}}) == 1.5);
  CHECK(scene.value("intel_gpu_workload_processes", {{"workload", "ffmpeg"}}) == 1);
}

TEST_CASE("what a scan that was cut short has not read never becomes unattributed") {
  Scene scene;
  constexpr auto kVideo = static_cast<std::size_t>(EngineClass::video);
  scene.process(7);
  scene.client(7, 3, 1, 100);
  scene.measured[kGpu][kVideo] = 500;
  scene.scan();
  scene.tree.tree.move("proc/7", "hidden");
  scene.measured[kGpu][kVideo] = 504;
  scene.scan_in_part();
  scene.tree.tree.move("hidden", "proc/7");
  scene.client(7, 3, 1, 106);
  scene.measured[kGpu][kVideo] = 506;
  scene.scan();
  CHECK(scene.value(kBusy, {{"workload", "ffmpeg"}}) == 6);
  CHECK(scene.value(kBusy, {{"workload", "unattributed"}}) == 0);
}

TEST_CASE("a client that a compositor opened for another is the compositor's until it is handed over") {
  Scene scene;
  scene.scan();
  const std::uint64_t young = (scene.uptime - 5) * 100;
  scene.process(7, {.comm = "compositor", .start = young});
  scene.client(7, 3, 1, 1);
  scene.scan();
  // Both hold it: the lower PID counts.
  scene.process(9, {.comm = "game", .start = young});
  scene.client(7, 3, 1, 2);
  scene.client(9, 5, 1, 2);
  scene.scan();
  CHECK(scene.value(kBusy, {{"workload", "compositor"}}) == 2);
  CHECK_FALSE(scene.value(kBusy, {{"workload", "game"}}));
  scene.tree.tree.remove("proc/7/fdinfo/3");
  scene.client(9, 5, 1, 5);
  scene.scan();
  CHECK(scene.value(kBusy, {{"workload", "compositor"}}) == 2);
  CHECK(scene.value(kBusy, {{"workload", "game"}}) == 3);
}

TEST_CASE("rules that change start new workloads; the earlier ones keep what they counted") {
  auto rules = std::make_shared<test::FixedRules>(WorkloadRules{{.name = "old", .comm = {"ffmpeg"}}});
  test::MachineGiven given;
  given.rules = rules;
  Scene scene(given);
  scene.process(7);
  scene.client(7, 3, 1, 1);
  scene.scan();
  scene.client(7, 3, 1, 3);
  scene.scan();
  *rules = test::FixedRules(WorkloadRules{{.name = "new", .comm = {"ffmpeg"}}});
  scene.client(7, 3, 1, 8);
  scene.scan();
  CHECK(scene.value(kBusy, {{"workload", "old"}}) == 2);
  CHECK(scene.value(kBusy, {{"workload", "new"}}) == 5);
}

TEST_CASE("a fork bomb of clients with hostile names leaves the page bounded, and its sum right") {
  test::MachineGiven given;
  given.options["workload.max"] = {"16"};
  Scene scene(given);
  scene.scan();
  constexpr std::uint32_t kMany = 300;
  for (int round = 0; round < 3; ++round) {
    const std::uint64_t young = (scene.uptime - 5) * 100;
    for (std::uint32_t i = 0; i < kMany; ++i) {
      const std::uint32_t pid = 1000 + static_cast<std::uint32_t>(round) * kMany + i;
      const std::string name = std::to_string(pid) + "\"\xff" + std::string(200, 'x');
      scene.process(pid, {.start = young, .cgroup = "0::/system.slice/" + name + ".service\n"});
      scene.client(pid, 3, pid, 1);
    }
    scene.scan();
    for (std::uint32_t i = 0; i < kMany; ++i)
      scene.tree.tree.remove("proc/" + std::to_string(1000 + static_cast<std::uint32_t>(round) * kMany + i));
  }
  scene.scan();
  double sum = 0;
  std::size_t workloads = 0;
  for (const auto& sample : scene.sink.samples().samples()) {
    if (sample.metric->name == "intel_gpu_workload_engine_busy_seconds_total") sum += sample.value;
    if (sample.metric->name != "intel_gpu_workload_processes") continue;
    ++workloads;
    CHECK(scene.sink.samples().label_value(sample, 0).size() <= kLongestWorkloadName + 16);
  }
  CHECK(sum == 3 * kMany);
  CHECK(workloads == 17);
}

TEST_CASE("names of hosts that are not shown are a feature that is missing") {
  Scene scene;
  scene.scan();
  REQUIRE(scene.sink.features().size() == 3);
  CHECK(scene.sink.features()[2].feature->name == "workload_names");
  CHECK_FALSE(scene.sink.features()[2].available);
  CHECK(scene.sink.features()[2].absent.reason == Reason::disabled);
}

TEST_SUITE_END();
