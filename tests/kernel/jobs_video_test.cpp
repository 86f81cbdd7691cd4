// SPDX-License-Identifier: Apache-2.0
// What video jobs cost a scrape whose processes are known: nothing that the kernel would notice.
#include <doctest/doctest.h>

#include <string>

#include "collector/collectors.h"
#include "collector/jobs/jobs_facts.h"
#include "support/counted_calls.h"
#include "support/fake_job_counters.h"
#include "support/sanitizers.h"
#include "support/test_machine.h"

using namespace igpu;
using namespace igpu::test;

TEST_SUITE_BEGIN("kernel: cost of video jobs");

TEST_CASE("video jobs of a hundred channels add no system call to a scrape") {
#ifdef IGPU_SANITIZED
  MESSAGE("a sanitizer makes calls of its own: not counted");
  return;
#endif
  const std::string gpu = "0000:03:00.0";
  FakeClock clock;
  FakeJobCounters kernel;
  TestMachine machine;
  const auto collector = make_collector(jobs_collector, machine.machine(), machine.log);
  SampleSink sink;
  TestMachinePass pass(clock);
  pass.facts().put(gpu, CountedJobs{&kernel});
  for (std::uint32_t pid = 100; pid < 200; ++pid) {
    std::uint64_t* const group = kernel.add_process_group(gpu, JOB_SOURCE_DRM_SCHED, JOB_CLASS_VIDEO, pid, 700);
    group[JOB_SUBMITTED] = group[JOB_OUTCOME + JOB_COMPLETED] = 50;
    pass.snapshot->pids.push_back(pid);
    pass.snapshot->processes.push_back({.pid = pid, .start_time_ticks = 700, .comm = "ffmpeg"});
  }
  collector->collect(pass, sink);
  CHECK(sink.samples().samples().size() == 100);
  const auto calls = calls_of([&] {
    sink.clear();
    collector->collect(pass, sink);
  });
  if (!calls) {
    MESSAGE("no process may trace another one here: not counted");
    return;
  }
  CHECK(calls->empty());
}

TEST_SUITE_END();
