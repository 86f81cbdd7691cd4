// SPDX-License-Identifier: Apache-2.0
#include "collector/workloads/workloads_jobs.h"

#include <doctest/doctest.h>

#include <string>

#include "support/fake_job_counters.h"

TEST_SUITE_BEGIN("workloads_jobs");

using namespace igpu;
using namespace igpu::test;
using namespace std::chrono_literals;

namespace {

const std::string kGpu = "0000:00:02.0";
const WorkloadJobs::Series kVideo{kGpu, JobClass::video, JobSource::i915};

// A kernel that counts jobs, and scans every ten seconds.
class Scene {
 public:
  std::uint64_t* group_of(std::uint32_t pid, std::uint64_t start_ticks) {
    return kernel.add_process_group(kGpu, JOB_SOURCE_I915, JOB_CLASS_VIDEO, pid, start_ticks);
  }
  static void complete(std::uint64_t* group, std::uint64_t jobs) {
    group[JOB_SUBMITTED] += jobs;
    group[JOB_OUTCOME + JOB_COMPLETED] += jobs;
    group[JOB_QUEUE + 3] += jobs;
    group[JOB_QUEUE_NS] += jobs * 100'000;
    group[JOB_RUN + 5] += jobs;
    group[JOB_RUN_NS] += jobs * 400'000;
  }
  struct Running {
    std::uint32_t pid;
    std::uint64_t start_ticks;
    std::string workload;  // "": the scan did not get to know it
  };
  void scan(std::initializer_list<Running> running) {
    snapshot.time += 10s;
    snapshot.pids.clear();
    for (const Running& process : running) {
      snapshot.pids.push_back(process.pid);
      if (!process.workload.empty()) jobs.found(process.pid, process.start_ticks, process.workload, snapshot.time);
    }
    CountedJobsByDevice counted;
    counted[kGpu] = {&kernel};
    jobs.advance(counted, snapshot);
  }
  std::uint64_t completed(const std::string& workload) const {
    const auto all = jobs.by_workload().find(workload);
    if (all == jobs.by_workload().end() || !all->second.contains(kVideo)) return 0;
    return all->second.at(kVideo).outcomes[JOB_COMPLETED];
  }

  FakeJobCounters kernel;
  ClientSnapshot snapshot;
  WorkloadJobs jobs;
};

}  // namespace

TEST_CASE("a process' jobs are those of its workload, with their histograms") {
  Scene scene;
  std::uint64_t* const one = scene.group_of(10, 700);
  std::uint64_t* const two = scene.group_of(11, 701);
  Scene::complete(one, 3);
  Scene::complete(two, 4);
  scene.scan({{10, 700, "encoder"}, {11, 701, "encoder"}});
  Scene::complete(one, 1);
  scene.scan({{10, 700, "encoder"}, {11, 701, "encoder"}});
  CHECK(scene.completed("encoder") == 8);
  const JobCounts& counts = scene.jobs.by_workload().at("encoder").at(kVideo);
  CHECK(counts.queue[3] == 8);
  CHECK(counts.run[5] == 8);
  CHECK(counts.queue_seconds == doctest::Approx(0.0008));
  CHECK(counts.run_seconds == doctest::Approx(0.0032));
}

TEST_CASE("another process with the same PID is another member") {
  Scene scene;
  Scene::complete(scene.group_of(10, 700), 3);
  scene.scan({{10, 999, "browser"}});
  CHECK(scene.completed("browser") == 0);
}

TEST_CASE("jobs wait for the scan that finds their process, for a minute at most") {
  Scene scene;
  std::uint64_t* const group = scene.group_of(10, 700);
  Scene::complete(group, 3);
  scene.scan({{10, 700, ""}});
  CHECK(scene.jobs.by_workload().empty());
  scene.scan({{10, 700, "encoder"}});
  CHECK(scene.completed("encoder") == 3);

  Scene::complete(scene.group_of(12, 800), 5);
  for (int i = 0; i < 6; ++i) scene.scan({{12, 800, ""}});
  CHECK(scene.completed("unattributed") == 0);
  scene.scan({{12, 800, ""}});
  CHECK(scene.completed("unattributed") == 5);
}

TEST_CASE("a process that ended keeps its workload; one that no scan found is unattributed") {
  Scene scene;
  std::uint64_t* const known = scene.group_of(10, 700);
  std::uint64_t* const unknown = scene.group_of(11, 701);
  Scene::complete(known, 3);
  Scene::complete(unknown, 2);
  scene.scan({{10, 700, "encoder"}, {11, 701, ""}});
  Scene::complete(known, 4);
  scene.scan({});
  CHECK(scene.completed("encoder") == 7);
  CHECK(scene.completed("unattributed") == 2);
}

TEST_CASE("the group of a process that ended is freed when none of its jobs is in flight, and serves another") {
  Scene scene;
  std::uint64_t* const group = scene.group_of(10, 700);
  Scene::complete(group, 3);
  ++group[JOB_SUBMITTED];
  scene.scan({{10, 700, "encoder"}});
  for (int i = 0; i < 3; ++i) scene.scan({});
  CHECK(scene.kernel.process_slots()[JOB_FREE_ADDED] == 0);  // one is in flight
  --group[JOB_SUBMITTED];
  Scene::complete(group, 1);
  scene.scan({});
  CHECK(scene.kernel.process_slots()[JOB_FREE_ADDED] == 0);  // it changed
  scene.scan({});
  CHECK(scene.kernel.process_slots()[JOB_FREE_ADDED] == 1);
  CHECK(scene.completed("encoder") == 4);

  std::uint64_t* const next = scene.group_of(20, 900);
  CHECK(next == group);
  Scene::complete(next, 2);
  scene.scan({{20, 900, "browser"}});
  CHECK(scene.completed("encoder") == 4);
  CHECK(scene.completed("browser") == 2);
}

TEST_CASE("ten thousand short processes, one after the other, need two groups") {
  Scene scene;
  for (std::uint32_t pid = 100; pid < 10'100; ++pid) {
    Scene::complete(scene.group_of(pid, pid), 1);
    scene.scan({{pid, pid, "short"}});
  }
  scene.scan({});
  CHECK(scene.completed("short") == 10'000);
  CHECK(scene.kernel.process_slots()[JOB_PROCESS_GROUPS_USED] <= 3);
}

TEST_CASE("the group of a process whose PID another user of the GPU has by now is freed") {
  Scene scene;
  Scene::complete(scene.group_of(10, 700), 3);
  scene.scan({{10, 700, "encoder"}});
  scene.snapshot.processes.push_back({.pid = 10, .start_time_ticks = 999, .comm = "player"});
  scene.scan({{10, 999, "player"}});
  CHECK(scene.kernel.process_slots()[JOB_FREE_ADDED] == 1);
  CHECK(scene.completed("encoder") == 3);
  CHECK(scene.completed("player") == 0);
}

TEST_CASE("while other processes are hidden nothing is freed") {
  Scene scene;
  scene.snapshot.pids_hidden = true;
  Scene::complete(scene.group_of(10, 700), 3);
  for (int i = 0; i < 5; ++i) scene.scan({});
  CHECK(scene.kernel.process_slots()[JOB_FREE_ADDED] == 0);
}

TEST_CASE("jobs for which the kernel had no group are unattributed at once") {
  Scene scene;
  Scene::complete(scene.group_of(0, 0), 6);
  scene.scan({});
  CHECK(scene.completed("unattributed") == 6);
}

TEST_CASE("a group that another processor made too is freed") {
  Scene scene;
  scene.group_of(10, 700)[JOB_KIND] = JOB_KIND_ABANDONED;
  scene.scan({});
  CHECK(scene.kernel.process_slots()[JOB_FREE_ADDED] == 1);
  CHECK(scene.jobs.by_workload().empty());
}

TEST_CASE("jobs of a folded workload are those of other, now and later") {
  Scene scene;
  std::uint64_t* const group = scene.group_of(10, 700);
  Scene::complete(group, 3);
  scene.scan({{10, 700, "encoder"}});
  scene.jobs.fold({"encoder"});
  CHECK(scene.completed("encoder") == 0);
  CHECK(scene.completed("other") == 3);
  Scene::complete(group, 1);
  scene.scan({{10, 700, "encoder"}});
  scene.jobs.fold({"encoder"});
  CHECK(scene.completed("other") == 4);
}

TEST_CASE("a GPU that is not counted has no series, and its groups are freed all the same") {
  Scene scene;
  Scene::complete(scene.kernel.add_process_group("0000:03:00.0", JOB_SOURCE_I915, JOB_CLASS_VIDEO, 10, 700), 3);
  for (int i = 0; i < 3; ++i) scene.scan({});
  CHECK(scene.jobs.by_workload().empty());
  CHECK(scene.kernel.process_slots()[JOB_FREE_ADDED] == 1);
}

TEST_SUITE_END();
