// SPDX-License-Identifier: Apache-2.0
//
// What jobs cost user space: a job that `trace record` reads from rings as the kernel fills them, pairs, and writes to
// a file as Perfetto packets; and a scrape of the collector `jobs` with every slot in use. What the kernel's part costs
// is measured by tests/bench/job_events.
//
//   trace_bench            prints it
//   trace_bench --check    exit status 1 if an aim (15 % of a core at 100,000 jobs/s, 50 us) is missed
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <vector>

#include "collector/collectors.h"
#include "igpu/job_recorder.h"
#include "support/fake_job_counters.h"
#include "support/gpu_tree.h"
#include "support/test_machine.h"
#include "support/trace_records.h"
#include "trace/trace_file.h"

using namespace igpu;
using namespace igpu::test;

namespace {

constexpr std::size_t kJobs = 2000;  // per round: 20 ms at 100,000 jobs/s
constexpr std::size_t kRounds = 200;
constexpr std::size_t kInFlight = 64;  // jobs between submission and end
constexpr double kShareAim = 0.15;     // of a core, at 100,000 jobs/s
constexpr int kScrapes = 1000;
constexpr double kScrapeAim = 50;  // us

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

// Nothing of it is left when the benchmark ends.
class TraceFile {
 public:
  TraceFile() : file_(std::tmpfile()) {}
  ~TraceFile() {
    if (file_ != nullptr) std::fclose(file_);
  }
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;
  explicit operator bool() const { return file_ != nullptr; }
  void write(std::string_view part) {
    bytes += part.size();
    const ssize_t written = ::write(::fileno(file_), part.data(), part.size());
    whole = whole && written == static_cast<ssize_t>(part.size());
  }
  std::uint64_t bytes = 0;
  bool whole = true;

 private:
  std::FILE* file_;
};

// Whether it worked; `met` becomes false if the aim is missed.
bool record_jobs(bool& met) {
  FakeTracepoints tracepoints(
      {"gpu_scheduler/drm_sched_job_queue", "gpu_scheduler/drm_sched_job_run", "gpu_scheduler/drm_sched_job_done"});
  TraceFile file;
  if (!file) return false;
  exporter::PerfettoWriter writer([&](std::string_view part) { file.write(part); }, {1, 1, 1});
  JobRecorderError error;
  const auto recorder = open_job_recorder({}, tracepoints, nullptr, writer, error);
  if (!recorder) return false;

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
  writer.flush();
  used += cpu_seconds() - before;
  const JobRecorderCounts& counts = recorder->counts();
  const double per_job = used / static_cast<double>(counts.recorded);
  met = met && per_job * 1e5 <= kShareAim;
  std::printf("%llu jobs recorded, %.0f ns and %.0f bytes each: %.1f %% of a processor at 100,000 jobs/s\n",
              static_cast<unsigned long long>(counts.recorded), per_job * 1e9,
              static_cast<double>(file.bytes) / static_cast<double>(counts.recorded), per_job * 1e5 * 100);
  return file.whole && counts.recorded == seqno && counts.unmatched == 0;
}

// All groups of one GPU, which is the most that a scrape can read.
bool scrape_slots(bool& met) {
  TestMachine machine;
  FakeJobCounters counters;
  machine.machine().job_counters = &counters;
  add_gpu(machine.tree,
          {.pci_path = "pci0000:00/0000:00:02.0", .driver = "xe", .card = "card0", .render_node = "renderD128"});
  for (int group = 1; group < JOB_GROUPS; ++group) {
    std::uint64_t* const slots =
        counters.add_group("0000:00:02.0", JOB_SOURCE_DRM_SCHED, group % (JOB_CLASS_OTHER + 1));
    for (std::size_t i = JOB_OUTCOME; i < JOB_GROUP_SLOTS; ++i) slots[i] = i * 1000;
  }
  CollectorRun<jobs_collector> run(machine, machine.gpus().at(0));
  std::vector<double> times;
  for (int i = 0; i < kScrapes; ++i) {
    const double before = cpu_seconds();
    run.collect();
    times.push_back(cpu_seconds() - before);
  }
  std::nth_element(times.begin(), times.begin() + kScrapes / 2, times.end());
  const double median = times[kScrapes / 2] * 1e6;
  met = met && median < kScrapeAim;
  std::printf("a scrape of %d slots in %d groups, all in use: %.1f us\n", JOB_SLOTS, JOB_GROUPS - 1, median);
  return run.sink().samples().samples().size() >= static_cast<std::size_t>(JOB_GROUPS - 1);
}

}  // namespace

int main(int argc, char** argv) {
  const bool check = argc > 1 && std::strcmp(argv[1], "--check") == 0;
  bool met = true;
  const bool worked = record_jobs(met) && scrape_slots(met);
  return worked && (met || !check) ? EXIT_SUCCESS : EXIT_FAILURE;
}
