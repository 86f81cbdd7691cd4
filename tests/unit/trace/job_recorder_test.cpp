// SPDX-License-Identifier: Apache-2.0
#include "igpu/job_recorder.h"

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

#include "machine/filesystem.h"
#include "support/machine_tree.h"
#include "support/trace_records.h"

using namespace igpu;
using namespace igpu::test;

namespace {

constexpr std::uint64_t kMs = 1'000'000;

struct Collected final : JobSink {
  void add(const Job& job) override { jobs.push_back(job); }
  void add(const FenceWait& wait) override { waits.push_back(wait); }
  void add(const IoctlCall& call) override { calls.push_back(call); }
  void add(const CpuSwitch& cpu_switch) override { switches.push_back(cpu_switch); }
  void add(const JobProcess& process) override { processes.push_back(process); }
  std::vector<Job> jobs;
  std::vector<FenceWait> waits;
  std::vector<IoctlCall> calls;
  std::vector<CpuSwitch> switches;
  std::vector<JobProcess> processes;
};

struct Machine {
  Machine()
      : tracepoints({"gpu_scheduler/drm_sched_job_queue", "gpu_scheduler/drm_sched_job_run",
                     "gpu_scheduler/drm_sched_job_done", "dma_fence/dma_fence_wait_start",
                     "dma_fence/dma_fence_wait_end", "sched/sched_switch", "syscalls/sys_enter_ioctl",
                     "syscalls/sys_exit_ioctl"}) {}

  std::unique_ptr<JobRecorder> open(const JobRecorderOptions& options = {}) {
    JobRecorderError error;
    auto recorder = open_job_recorder(options, tracepoints, nullptr, collected, error);
    REQUIRE(recorder);
    return recorder;
  }
  void queue(std::uint64_t time, std::uint64_t seqno, const char* ring = "rcs1", std::uint32_t pid = 40,
             std::size_t cpu = 0) {
    RecordBuilder record("gpu_scheduler", "drm_sched_job_queue");
    record.set("fence_context", std::uint64_t{5}).set("fence_seqno", seqno).set("name", ring);
    record.set("dev", "0000:03:00.0").by(pid, pid + 1).at_time(time);
    tracepoints.add(record, cpu);
  }
  void run(std::uint64_t time, std::uint64_t seqno, std::size_t cpu = 0) {
    RecordBuilder record("gpu_scheduler", "drm_sched_job_run");
    record.set("fence_context", std::uint64_t{5}).set("fence_seqno", seqno).at_time(time);
    tracepoints.add(record, cpu);
  }
  void done(std::uint64_t time, std::uint64_t seqno, std::size_t cpu = 0) {
    RecordBuilder record("gpu_scheduler", "drm_sched_job_done");
    record.set("fence_context", std::uint64_t{5}).set("fence_seqno", seqno).in_interrupt().at_time(time);
    tracepoints.add(record, cpu);
  }
  void job(std::uint64_t time, std::uint64_t seqno, const char* ring = "rcs1", std::uint32_t pid = 40) {
    queue(time, seqno, ring, pid);
    run(time + kMs, seqno);
    done(time + 2 * kMs, seqno);
  }

  FakeTracepoints tracepoints;
  Collected collected;
};

}  // namespace

TEST_SUITE_BEGIN("job recorder");

TEST_CASE("events of several CPUs are put in the order of their times") {
  Machine machine;
  auto recorder = machine.open();
  machine.done(30 * kMs, 1, 0);  // this CPU's ring is read first
  machine.queue(10 * kMs, 1, "rcs1", 40, 1);
  machine.run(20 * kMs, 1, 1);
  recorder->poll(std::chrono::milliseconds(0));
  recorder->finish();
  REQUIRE(machine.collected.jobs.size() == 1);
  CHECK(machine.collected.jobs[0].queue_ns() == 10 * kMs);
  CHECK(machine.collected.jobs[0].run_ns() == 10 * kMs);
  CHECK(recorder->counts().events == 3);
  CHECK(recorder->counts().unmatched == 0);
}

TEST_CASE("the process of a job is reported once, with the workload that the metrics name") {
  Machine machine;
  MachineTree tree;
  tree.write("proc/40/comm", "ffmpeg\n");
  tree.write("proc/40/cgroup", "0::/system.slice/channel@7.service\n");
  tree.write("proc/50/comm", "browser\n");
  tree.write("proc/50/cgroup", "0::/\n");
  const auto proc = open_root(tree.path("proc"));
  JobRecorderError error;
  const auto recorder = open_job_recorder({}, machine.tracepoints, proc.get(), machine.collected, error);
  REQUIRE(recorder);
  machine.job(10 * kMs, 1, "rcs1", 40);
  machine.job(20 * kMs, 2, "rcs1", 40);
  machine.job(30 * kMs, 3, "rcs1", 50);
  machine.job(40 * kMs, 4, "rcs1", 60);  // ended: nothing is known of it
  recorder->poll(std::chrono::milliseconds(0));
  recorder->finish();
  const auto& processes = machine.collected.processes;
  REQUIRE(processes.size() == 2);
  CHECK(processes[0].pid == 40);
  CHECK(processes[0].workload == "channel@7.service");
  CHECK(processes[1].pid == 50);
  CHECK(processes[1].workload == "browser");
  CHECK(machine.collected.jobs.size() == 4);
}

TEST_CASE("an event that another CPU's ring shows one round later still comes in its place") {
  Machine machine;
  auto recorder = machine.open();
  machine.queue(10 * kMs, 1);
  machine.done(20 * kMs, 1);
  recorder->poll(std::chrono::milliseconds(0));
  machine.run(20 * kMs - 500'000, 1, 1);
  recorder->poll(std::chrono::milliseconds(0));
  recorder->finish();
  REQUIRE(machine.collected.jobs.size() == 1);
  CHECK(machine.collected.jobs[0].handed_over_ns == 20 * kMs - 500'000);
}

TEST_CASE("filters leave out whole jobs, and their events are not unmatched") {
  Machine machine;
  JobRecorderOptions options;
  SUBCASE("class") { options.classes = {JobClass::video}; }
  SUBCASE("process") { options.pids = {50}; }
  SUBCASE("ring") { options.rings = {"vcs2"}; }
  SUBCASE("device") { options.devices = {"0000:04:00.0"}; }
  const bool none = !options.devices.empty();
  auto recorder = machine.open(options);
  machine.job(10 * kMs, 1);
  machine.job(20 * kMs, 2, "vcs2", 50);
  recorder->poll(std::chrono::milliseconds(0));
  recorder->finish();
  CHECK(machine.collected.jobs.size() == (none ? 0 : 1));
  const JobRecorderCounts& counts = recorder->counts();
  CHECK(counts.submitted == 2);
  CHECK(counts.filtered == (none ? 2 : 1));
  CHECK(counts.recorded + counts.filtered == 2);
  CHECK(counts.unmatched == 0);
}

TEST_CASE("sampling takes whole jobs and counts the others") {
  Machine machine;
  JobRecorderOptions options;
  options.sample = 8;
  auto recorder = machine.open(options);
  for (std::uint64_t i = 1; i <= 80; ++i) machine.job(i * 10 * kMs, i);
  recorder->poll(std::chrono::milliseconds(0));
  recorder->finish();
  CHECK(machine.collected.jobs.size() == 10);
  CHECK(recorder->counts().not_sampled == 70);
  CHECK(recorder->counts().unmatched == 0);
  for (const Job& job : machine.collected.jobs) CHECK(job.outcome == JobOutcome::completed);
}

TEST_CASE("the rate limit takes a second's worth at once, then as many as the rate gives") {
  Machine machine;
  JobRecorderOptions options;
  options.max_rate = 10;
  auto recorder = machine.open(options);
  for (std::uint64_t i = 1; i <= 100; ++i) machine.job(1000 * kMs + i * 10 * kMs, i);  // 100 jobs in a second
  recorder->poll(std::chrono::milliseconds(0));
  recorder->finish();
  const JobRecorderCounts& counts = recorder->counts();
  CHECK(counts.recorded >= 19);
  CHECK(counts.recorded <= 20);
  CHECK(counts.recorded + counts.rate_limited == 100);
}

TEST_CASE("losses of the rings and unknown events are counted") {
  Machine machine;
  auto recorder = machine.open();
  machine.done(10 * kMs, 7);
  RecordBuilder other("i915", "i915_request_queue");
  machine.tracepoints.add(other.at_time(11 * kMs));
  machine.tracepoints.lost = 17;
  recorder->poll(std::chrono::milliseconds(0));
  recorder->finish();
  CHECK(recorder->counts().lost == 17);
  CHECK(recorder->counts().unmatched == 1);
  CHECK(recorder->counts().unknown == 1);
}

TEST_CASE("waits and, with --cpu, ioctls of submitting threads and context switches are recorded") {
  Machine machine;
  JobRecorderOptions options;
  options.cpu = true;
  auto recorder = machine.open(options);
  const auto ioctl = [&](std::uint64_t time, const char* event, std::uint32_t tid) {
    RecordBuilder record("syscalls", event);
    machine.tracepoints.add(record.by(40, tid).at_time(time));
  };
  ioctl(9 * kMs, "sys_enter_ioctl", 41);
  ioctl(9 * kMs, "sys_enter_ioctl", 99);
  machine.queue(10 * kMs, 1);
  ioctl(11 * kMs, "sys_exit_ioctl", 99);  // submits nothing
  ioctl(11 * kMs, "sys_exit_ioctl", 41);
  for (const auto& [event, time] : {std::pair{"dma_fence_wait_start", 12 * kMs}, {"dma_fence_wait_end", 15 * kMs}}) {
    RecordBuilder record("dma_fence", event);
    machine.tracepoints.add(record.set("context", std::uint64_t{5}).by(40, 41).at_time(time));
  }
  RecordBuilder cpu_switch("sched", "sched_switch");
  cpu_switch.set("next_comm", "ffmpeg").set("next_pid", std::uint64_t{41}).at_time(16 * kMs);
  machine.tracepoints.add(cpu_switch, 1);
  recorder->poll(std::chrono::milliseconds(0));
  recorder->finish();
  REQUIRE(machine.collected.calls.size() == 1);
  CHECK(machine.collected.calls[0].tid == 41);
  CHECK(machine.collected.calls[0].end_ns - machine.collected.calls[0].begin_ns == 2 * kMs);
  REQUIRE(machine.collected.waits.size() == 1);
  CHECK(machine.collected.waits[0].end_ns - machine.collected.waits[0].begin_ns == 3 * kMs);
  REQUIRE(machine.collected.switches.size() == 1);
  CHECK(machine.collected.switches[0].next_comm.view() == "ffmpeg");
  CHECK(machine.collected.switches[0].cpu == 1);
  CHECK(recorder->counts().unknown == 0);
}

TEST_CASE("a machine without events, without permission to read them, or without permission for perf") {
  JobRecorderError error;
  Collected collected;
  FakeTracepoints none({});
  CHECK_FALSE(open_job_recorder({}, none, nullptr, collected, error));
  CHECK(error.kind == JobRecorderError::Kind::no_events);
  FakeTracepoints unreadable({"gpu_scheduler/*"});
  unreadable.denied = true;
  CHECK_FALSE(open_job_recorder({}, unreadable, nullptr, collected, error));
  CHECK(error.kind == JobRecorderError::Kind::tracefs_denied);
  FakeTracepoints refused({"gpu_scheduler/*"});
  refused.perf_error = 13;
  CHECK_FALSE(open_job_recorder({}, refused, nullptr, collected, error));
  CHECK(error.kind == JobRecorderError::Kind::perf_denied);
  CHECK(error.os_error == 13);
}
