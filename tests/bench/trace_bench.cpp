// SPDX-License-Identifier: Apache-2.0
// What `trace record` costs per job: rings as the kernel fills them, read, paired, written as Perfetto packets. The
// kernel's part, which the producer pays, is not in it.
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "igpu/job_recorder.h"
#include "support/trace_records.h"
#include "trace/perfetto_writer.h"

using namespace igpu;
using namespace igpu::test;

namespace {

constexpr std::size_t kJobs = 2000;  // per round: 20 ms at 100,000 jobs/s
constexpr std::size_t kRounds = 200;
constexpr std::size_t kInFlight = 64;  // jobs between submission and end

double cpu_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

// Fields of a record that was built once.
void patch(std::vector<std::byte>& sample, std::uint64_t time, std::size_t seqno_offset, std::uint64_t seqno) {
  std::memcpy(sample.data() + 16, &time, sizeof time);
  std::memcpy(sample.data() + 28 + seqno_offset, &seqno, sizeof seqno);
}

}  // namespace

int main() {
  FakeTracepoints tracepoints(
      {"gpu_scheduler/drm_sched_job_queue", "gpu_scheduler/drm_sched_job_run", "gpu_scheduler/drm_sched_job_done"});
  std::uint64_t bytes = 0;
  exporter::PerfettoWriter writer([&](std::string_view part) { bytes += part.size(); }, {1, 1, 1});
  JobRecorderError error;
  const auto recorder = open_job_recorder({}, tracepoints, nullptr, writer, error);
  if (!recorder) return EXIT_FAILURE;

  auto queue = RecordBuilder("gpu_scheduler", "drm_sched_job_queue")
                   .set("fence_context", std::uint64_t{5})
                   .set("name", "rcs1")
                   .set("dev", "0000:03:00.0")
                   .by(40, 41)
                   .sample();
  auto run = RecordBuilder("gpu_scheduler", "drm_sched_job_run").set("fence_context", std::uint64_t{5}).sample();
  auto done = RecordBuilder("gpu_scheduler", "drm_sched_job_done")
                  .set("fence_context", std::uint64_t{5})
                  .in_interrupt()
                  .sample();
  const std::size_t in_queue = captured_format("gpu_scheduler", "drm_sched_job_queue").find("fence_seqno")->offset;
  const std::size_t in_run = captured_format("gpu_scheduler", "drm_sched_job_run").find("fence_seqno")->offset;
  const std::size_t in_done = captured_format("gpu_scheduler", "drm_sched_job_done").find("fence_seqno")->offset;

  double used = 0;
  std::uint64_t seqno = 0;
  tracepoints.rings.resize(2);
  for (std::size_t round = 0; round < kRounds; ++round) {
    for (std::vector<std::byte>& ring : tracepoints.rings) ring.clear();
    for (std::size_t job = 0; job < kJobs; ++job) {
      ++seqno;
      const std::uint64_t time = seqno * 10'000;
      const auto append = [&](std::size_t cpu, std::vector<std::byte>& sample) {
        tracepoints.rings[cpu].insert(tracepoints.rings[cpu].end(), sample.begin(), sample.end());
      };
      patch(queue, time, in_queue, seqno);
      append(0, queue);
      patch(run, time + 3000, in_run, seqno);
      append(1, run);
      if (seqno <= kInFlight) continue;
      patch(done, time + 6000, in_done, seqno - kInFlight);
      append(1, done);
    }
    const double before = cpu_seconds();
    recorder->poll(std::chrono::milliseconds(0));
    used += cpu_seconds() - before;
  }
  const double before = cpu_seconds();
  recorder->finish();
  used += cpu_seconds() - before;
  const JobRecorderCounts& counts = recorder->counts();
  const double per_job = used / static_cast<double>(counts.recorded);
  std::printf("%llu jobs, %.0f ns and %.0f bytes each: %.1f %% of a processor at 100,000 jobs/s\n",
              static_cast<unsigned long long>(counts.recorded), per_job * 1e9,
              static_cast<double>(bytes) / static_cast<double>(counts.recorded), per_job * 1e5 * 100);
  return counts.recorded == seqno && counts.unmatched == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
