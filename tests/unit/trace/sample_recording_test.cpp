// SPDX-License-Identifier: Apache-2.0
// docs/sample.pftrace, on which docs/tracing.md shows the reports. IGPU_UPDATE=1 in the environment rewrites it.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "platform/regular_file.h"
#include "support/paths.h"
#include "trace/trace_file.h"

using namespace igpu;
using namespace igpu::exporter;

namespace {

constexpr std::uint64_t kMs = 1'000'000;
constexpr std::uint64_t kBegin = 1'000'000 * kMs;
constexpr std::uint64_t kLength = 600 * kMs;

struct Program {
  std::uint32_t pid;
  const char* comm;
  const char* workload;
  const char* ring;
  JobClass engine_class;
  std::uint64_t first_ms, period_ms, run_ms;  // period 0: one job, which does not end
};

// Two programs share the video engine, whose long jobs delay every third frame of the other; one waits for the CPU
// between its frames; one hangs, with a job behind it.
constexpr Program kPrograms[] = {{2101, "ffmpeg", "channel-1.service", "vcs1", JobClass::video, 0, 20, 7},
                                 {2202, "transcode", "nightly-transcode.service", "vcs2", JobClass::video, 3, 60, 30},
                                 {2303, "player", "user@1000.service", "rcs3", JobClass::render, 5, 33, 4},
                                 {2404, "trainer", "batch-7", "ccs4", JobClass::compute, 450, 0, 0},
                                 {2505, "inference", "batch-8", "ccs5", JobClass::compute, 470, 0, 0}};

std::vector<Job> submitted() {
  std::vector<Job> jobs;
  for (const Program& program : kPrograms) {
    std::uint64_t seqno = 0;
    for (std::uint64_t at = program.first_ms * kMs; at < kLength; at += program.period_ms * kMs) {
      Job job;
      job.engine_class = program.engine_class;
      job.pid = program.pid;
      job.tid = program.pid + 1;
      job.comm = program.comm;
      job.device = "0000:03:00.0";
      job.ring = program.ring;
      job.context = program.pid;
      job.client = program.pid % 100;
      job.key = {program.pid, ++seqno};
      job.submit_ns = kBegin + at;
      job.end_ns = program.run_ms * kMs;  // how long, until it has started
      jobs.push_back(job);
      if (program.period_ms == 0) break;
    }
  }
  std::stable_sort(jobs.begin(), jobs.end(), [](const Job& a, const Job& b) { return a.submit_ns < b.submit_ns; });
  return jobs;
}

// Each class has one engine, which takes jobs in their order.
std::vector<Job> executed(std::vector<Job> jobs) {
  std::map<JobClass, const Job*> last;
  for (Job& job : jobs) {
    const Job* const before = std::exchange(last[job.engine_class], &job);
    const bool hangs = job.end_ns == 0;
    if (before != nullptr && (hangs || before->end_ns > job.submit_ns)) {
      job.hold = before->context == job.context ? JobHold::same_context : JobHold::other_context;
      job.held_by = before->key;
    }
    if (before != nullptr && hangs) continue;  // behind the job that hangs
    job.start_ns = std::max(job.submit_ns + kMs / 20, before == nullptr ? 0 : before->end_ns);
    job.handed_over_ns = job.start_ns;
    if (hangs) continue;
    job.outcome = JobOutcome::completed;
    job.end_ns += job.start_ns;
  }
  return jobs;
}

std::string recording() {
  std::string bytes;
  PerfettoWriter writer([&](std::string_view part) { bytes += part; }, {kBegin, kBegin, kBegin});
  for (const Program& program : kPrograms)
    writer.add(JobProcess{kBegin + program.first_ms * kMs, program.pid, program.workload});
  JobRecorderCounts counts;
  for (const Job& job : executed(submitted())) {
    writer.add(job);
    ++counts.recorded;
    counts.events += job.ended() ? 3 : job.start_ns != 0 ? 2 : 1;
    if (job.comm.view() == "player") {
      writer.add(IoctlCall{job.pid, job.tid, job.submit_ns - kMs, job.submit_ns, 0x40386449});
      writer.add(FenceWait{job.pid, job.tid, job.submit_ns + kMs / 10, job.end_ns, job.key});
    }
  }
  counts.submitted = counts.recorded;
  writer.add_counts(counts, kBegin + kLength, true);
  writer.flush();
  return bytes;
}

}  // namespace

TEST_SUITE_BEGIN("sample recording");

TEST_CASE("the documents' sample is what the recorder writes today") {
  const std::string path = igpu::test::source_folder() + "/docs/sample.pftrace";
  const std::string bytes = recording();
  if (std::getenv("IGPU_UPDATE") != nullptr) std::ofstream(path, std::ios::binary) << bytes;
  CHECK_MESSAGE(read_regular_file(path, 1 << 20) == bytes, "IGPU_UPDATE=1 in the environment rewrites " << path);
  CHECK(bytes.size() < 64'000);

  const auto file = read_trace(bytes);
  REQUIRE(file);
  CHECK(file->whole());
  const std::string top = top_jobs(*file, 20);
  for (const char* text : {"did not end", "did not start", "waits on another context", "transcode 2202 on"})
    CHECK_MESSAGE(top.find(text) != std::string::npos, text);
}

TEST_SUITE_END();
