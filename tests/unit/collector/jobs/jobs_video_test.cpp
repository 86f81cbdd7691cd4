// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "collector/collectors.h"
#include "collector/jobs/jobs_facts.h"
#include "support/fake_job_counters.h"
#include "support/test_machine.h"

TEST_SUITE_BEGIN("jobs_video");

using namespace igpu;
using namespace igpu::test;
using namespace std::chrono_literals;

namespace {

const std::string kGpu = "0000:03:00.0", kOther = "0000:07:00.0";

// A kernel that counts jobs by process, and scrapes.
class Scene {
 public:
  std::uint64_t* group_of(std::uint32_t pid, std::uint64_t start_ticks, int engine_class = JOB_CLASS_VIDEO,
                          const std::string& device = kGpu) {
    return kernel.add_process_group(device, JOB_SOURCE_DRM_SCHED, engine_class, pid, start_ticks);
  }
  static void end(std::uint64_t* group, int outcome, std::uint64_t jobs) {
    group[JOB_SUBMITTED] += jobs;
    group[JOB_OUTCOME + outcome] += jobs;
  }
  struct Running {
    std::uint32_t pid;
    std::uint64_t start_ticks;
    std::string comm;
  };
  void scrape(const std::vector<Running>& running) {
    TestMachinePass pass(clock);
    for (const Running& one : running) {
      pass.snapshot->pids.push_back(one.pid);
      pass.snapshot->processes.push_back({.pid = one.pid, .start_time_ticks = one.start_ticks, .comm = one.comm});
    }
    pass.snapshot->pids_hidden = pids_hidden;
    for (const std::string& device : devices) pass.facts().put(device, CountedJobs{&kernel});
    sink.clear();
    collector->collect(pass, sink);
  }
  std::map<std::string, double> page() const {  // by "device pid comm"
    std::map<std::string, double> values;
    const SampleList& list = sink.samples();
    for (const auto& sample : list.samples()) {
      CHECK(sample.metric->name == "intel_gpu_process_video_jobs_total");
      std::string key;
      for (std::size_t i = 0; i < 3; ++i) key += std::string(list.label_value(sample, i)) + (i < 2 ? " " : "");
      CHECK(values.emplace(key, sample.value).second);
    }
    return values;
  }
  std::uint64_t freed() const { return kernel.process_slots().empty() ? 0 : kernel.process_slots()[JOB_FREE_ADDED]; }

  FakeClock clock;
  FakeJobCounters kernel;
  TestMachine machine;
  std::unique_ptr<MachineCollector> collector = make_collector(jobs_collector, machine.machine(), machine.log);
  SampleSink sink;
  std::vector<std::string> devices{kGpu};
  bool pids_hidden = false;
};

using Page = std::map<std::string, double>;

}  // namespace

TEST_CASE("video jobs of a process are those that were done: not the reset or lost ones, not those of other classes") {
  Scene scene;
  std::uint64_t* const video = scene.group_of(10, 700);
  Scene::end(video, JOB_COMPLETED, 50);
  Scene::end(video, JOB_BOUND, 25);
  Scene::end(video, JOB_LONG_RUNNING, 1);
  Scene::end(video, JOB_ERROR, 7);
  Scene::end(video, JOB_EVICTED, 5);
  video[JOB_SUBMITTED] += 3;  // in flight
  Scene::end(scene.group_of(10, 700, JOB_CLASS_RENDER), JOB_COMPLETED, 1000);
  scene.scrape({{10, 700, "ffmpeg"}});
  CHECK(scene.page() == Page{{kGpu + " 10 ffmpeg", 76}});
  Scene::end(video, JOB_COMPLETED, 25);
  scene.scrape({{10, 700, "ffmpeg"}});
  CHECK(scene.page() == Page{{kGpu + " 10 ffmpeg", 101}});
}

TEST_CASE("a process on two GPUs has a series for each; a GPU that is not watched has none") {
  Scene scene;
  scene.devices = {kGpu, kOther};
  Scene::end(scene.group_of(10, 700), JOB_COMPLETED, 3);
  Scene::end(scene.group_of(10, 700, JOB_CLASS_VIDEO, kOther), JOB_COMPLETED, 4);
  Scene::end(scene.group_of(10, 700, JOB_CLASS_VIDEO, "0000:09:00.0"), JOB_COMPLETED, 5);
  scene.scrape({{10, 700, "ffmpeg"}});
  CHECK(scene.page() == Page{{kGpu + " 10 ffmpeg", 3}, {kOther + " 10 ffmpeg", 4}});
}

TEST_CASE("a process with the PID of one that ended begins at its own count") {
  Scene scene;
  Scene::end(scene.group_of(10, 700), JOB_COMPLETED, 900);
  scene.scrape({{10, 700, "ffmpeg"}});
  Scene::end(scene.group_of(10, 800), JOB_COMPLETED, 2);
  scene.scrape({{10, 800, "ffmpeg"}});
  CHECK(scene.page() == Page{{kGpu + " 10 ffmpeg", 2}});
  scene.scrape({{10, 800, "ffmpeg"}});
  CHECK(scene.freed() == 1);
}

TEST_CASE("a process that no scan can name, or that ended, has no series") {
  Scene scene;
  Scene::end(scene.group_of(10, 700), JOB_COMPLETED, 3);
  Scene::end(scene.group_of(0, 0), JOB_COMPLETED, 3);  // those without room in the table
  scene.scrape({{11, 700, "player"}});
  CHECK(scene.page().empty());
}

TEST_CASE("groups of processes that ended are freed when they stand still, unless workloads count them") {
  Scene scene;
  std::uint64_t* const group = scene.group_of(10, 700);
  Scene::end(group, JOB_COMPLETED, 3);
  ++group[JOB_SUBMITTED];
  for (int i = 0; i < 3; ++i) scene.scrape({});
  CHECK(scene.freed() == 0);  // one is in flight
  --group[JOB_SUBMITTED];
  Scene::end(group, JOB_COMPLETED, 1);
  SUBCASE("nobody else counts") {
    scene.scrape({});
    CHECK(scene.freed() == 0);  // it changed
    scene.scrape({});
    CHECK(scene.freed() == 1);
    scene.scrape({});
    CHECK(scene.freed() == 1);
  }
  SUBCASE("workloads count") {
    scene.kernel.of_all_classes = true;
    for (int i = 0; i < 3; ++i) scene.scrape({});
    CHECK(scene.freed() == 0);
  }
  SUBCASE("processes are hidden") {
    scene.pids_hidden = true;
    for (int i = 0; i < 3; ++i) scene.scrape({});
    CHECK(scene.freed() == 0);
  }
}

TEST_CASE("ten thousand processes, one after the other, need a few groups; all at once, they get what there is") {
  Scene scene;
  for (std::uint32_t pid = 100; pid < 10'100; ++pid) {
    Scene::end(scene.group_of(pid, pid), JOB_COMPLETED, 1);
    scene.scrape({{pid, pid, "short"}});
    CHECK(scene.page().size() == 1);
  }
  CHECK(scene.kernel.process_slots()[JOB_PROCESS_GROUPS_USED] <= 4);

  Scene crowd;
  std::vector<Scene::Running> all;
  for (std::uint32_t pid = 100; pid < 10'100; ++pid) {
    all.push_back({pid, pid, "crowd"});
    if (pid < 1'059) Scene::end(crowd.group_of(pid, pid), JOB_COMPLETED, 1);  // as the kernel's programs do
  }
  crowd.scrape(all);
  CHECK(crowd.page().size() == 959);
}

TEST_CASE("what the kernel's memory holds is never trusted with more than it has: hostile names, used groups") {
  Scene scene;
  Scene::end(scene.group_of(10, 700), JOB_COMPLETED, 3);
  scene.kernel.process_slots()[JOB_PROCESS_GROUPS_USED] = ~std::uint64_t{0};
  scene.scrape({{10, 700, "\"}\n\xff#"}});
  CHECK(scene.page().size() == 1);
}

TEST_CASE("without counters, or without processes, there are no series; only what failed is a failure") {
  Scene scene;
  scene.devices.clear();
  scene.scrape({{10, 700, "ffmpeg"}});
  CHECK(scene.page().empty());
  TestMachinePass pass(scene.clock);
  pass.facts().put(kGpu, CountedJobs{&scene.kernel});
  pass.snapshot = Failure{std::make_error_code(std::errc::io_error), "proc"};
  scene.collector->collect(pass, scene.sink);
  CHECK(scene.sink.failures().size() == 1);
}

TEST_SUITE_END();
