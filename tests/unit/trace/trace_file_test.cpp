// SPDX-License-Identifier: Apache-2.0
#include "trace/trace_file.h"

#include <doctest/doctest.h>

#include <sstream>
#include <string>
#include <vector>

#include "support/perfetto_copy.h"
#include "text/text.h"

using namespace igpu;
using namespace igpu::exporter;

namespace {

constexpr std::uint64_t kMs = 1'000'000;

Job job(std::uint64_t seqno, std::uint64_t submit_ms, std::uint64_t start_ms, std::uint64_t end_ms) {
  Job job;
  job.outcome = JobOutcome::completed;
  job.engine_class = JobClass::video;
  job.key = {5, seqno};
  job.context = 77;
  job.pid = 2101;
  job.tid = 2102;
  job.comm = "ffmpeg";
  job.device = "0000:03:00.0";
  job.ring = "vcs2";
  job.submit_ns = submit_ms * kMs;
  job.handed_over_ns = start_ms * kMs;
  job.start_ns = start_ms * kMs;
  job.end_ns = end_ms * kMs;
  return job;
}

std::vector<Job> sample_jobs() {
  std::vector<Job> jobs = {job(1, 10, 10, 20), job(2, 11, 20, 28), job(3, 12, 28, 29)};
  jobs[1].hold = JobHold::other_context;
  jobs[1].held_by = {5, 1};
  jobs[1].dependency_ns = 3 * kMs;
  jobs[2].source = JobSource::i915;
  jobs[2].instance = 1;
  jobs[2].outcome = JobOutcome::bound;
  Job hung = job(4, 30, 31, 0);
  hung.outcome = JobOutcome::unfinished;
  jobs.push_back(hung);
  Job failed = job(5, 32, 33, 333);
  failed.outcome = JobOutcome::error;
  failed.error = -125;
  failed.preempted = true;
  failed.client = 17;
  jobs.push_back(failed);
  return jobs;
}

std::string written(const std::vector<Job>& jobs, bool ended = true) {
  std::string bytes;
  PerfettoWriter writer([&](std::string_view part) { bytes += part; }, {1000, 5000, 9000});
  for (const Job& one : jobs) writer.add(one);
  writer.add(FenceWait{2101, 2102, 12 * kMs, 20 * kMs, {5, 1}});
  writer.add(IoctlCall{2101, 2102, 10 * kMs, 11 * kMs, 0x40096c});
  CpuSwitch cpu_switch;
  cpu_switch.time_ns = 13 * kMs;
  cpu_switch.cpu = 1;
  cpu_switch.previous_tid = 0;
  cpu_switch.previous_state = 2;
  cpu_switch.next_tid = 2102;
  cpu_switch.next_comm = "ffmpeg";
  writer.add(cpu_switch);
  JobRecorderCounts counts;
  counts.events = 15;
  counts.recorded = jobs.size();
  counts.lost = 2;
  writer.add_counts(counts, 400 * kMs, ended);
  writer.flush();
  CHECK(writer.bytes() == bytes.size());
  return bytes;
}

}  // namespace

TEST_SUITE_BEGIN("trace file");

TEST_CASE("jobs are grouped by the workload of their process, also after an export") {
  std::vector<Job> jobs = {job(1, 10, 10, 20), job(2, 11, 20, 28), job(3, 12, 28, 29), job(4, 30, 31, 40)};
  jobs[1].pid = 2102;
  jobs[2].pid = 2103;
  jobs[3].pid = 2104;
  std::string bytes;
  PerfettoWriter writer([&](std::string_view part) { bytes += part; }, {1000, 5000, 9000});
  const std::string long_name = "media/transcoder-6d5f8b7c9-x2x4v/ffmpeg-of-channel-7";
  writer.add(JobProcess{10 * kMs, 2101, "channel@7.service"});
  writer.add(JobProcess{11 * kMs, 2102, "channel@7.service"});
  writer.add(JobProcess{12 * kMs, 2103, long_name});
  for (const Job& one : jobs) writer.add(one);
  writer.flush();
  const auto file = read_trace(bytes);
  REQUIRE(file);
  CHECK(file->whole());
  const std::string report = jobs_by(*file, "workload");
  const auto row = [&](std::string name, int jobs_of_it) {
    name.resize(long_name.size() + 2, ' ');
    return report.find(name + std::to_string(jobs_of_it) + ' ') != std::string::npos;
  };
  CHECK(row("channel@7.service", 2));
  CHECK(row(long_name, 1));
  CHECK(row("unattributed", 1));
  const auto exported = read_trace(test::perfetto_copy(*file));
  REQUIRE(exported);
  CHECK(jobs_by(*exported, "workload") == report);
}

TEST_CASE("everything that was written is read again") {
  const auto file = read_trace(written(sample_jobs()));
  REQUIRE(file);
  CHECK(file->whole());
  CHECK(file->ended);
  CHECK(file->counts.events == 15);
  CHECK(file->counts.lost == 2);
  const auto jobs = sample_jobs();
  REQUIRE(file->jobs.size() == jobs.size());
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const Job& read = file->jobs[i];
    CHECK(read.key == jobs[i].key);
    CHECK(read.source == jobs[i].source);
    CHECK(read.outcome == jobs[i].outcome);
    CHECK(read.hold == jobs[i].hold);
    CHECK(read.engine_class == jobs[i].engine_class);
    CHECK(read.instance == jobs[i].instance);
    CHECK(read.context == jobs[i].context);
    CHECK(read.held_by == jobs[i].held_by);
    CHECK(read.client == jobs[i].client);
    CHECK(read.pid == jobs[i].pid);
    CHECK(read.tid == jobs[i].tid);
    CHECK(read.comm == jobs[i].comm);
    CHECK(read.device == jobs[i].device);
    CHECK(read.ring == jobs[i].ring);
    CHECK(read.submit_ns == jobs[i].submit_ns);
    CHECK(read.dependency_ns == jobs[i].dependency_ns);
    CHECK(read.handed_over_ns == jobs[i].handed_over_ns);
    CHECK(read.start_ns == jobs[i].start_ns);
    CHECK(read.end_ns == jobs[i].end_ns);
    CHECK(read.error == jobs[i].error);
    CHECK(read.preempted == jobs[i].preempted);
  }
  REQUIRE(file->waits.size() == 1);
  CHECK(file->waits[0].end_ns == 20 * kMs);
  REQUIRE(file->calls.size() == 1);
  CHECK(file->calls[0].command == 0x40096c);
  REQUIRE(file->switches.size() == 1);
  CHECK(file->switches[0].time_ns == 13 * kMs);
  CHECK(file->switches[0].next_comm.view() == "ffmpeg");
  CHECK(file->switches[0].previous_state == 2);
}

TEST_CASE("a file cut off at any byte gives the jobs before, and where its last packet begins") {
  const std::string bytes = written(sample_jobs());
  const auto whole = read_trace(bytes);
  std::size_t last = 0;
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    const auto file = read_trace(std::string_view(bytes).substr(0, length));
    if (!file) {
      CHECK(last == 0);
      continue;
    }
    CHECK(file->jobs.size() >= last);
    CHECK(file->jobs.size() <= whole->jobs.size());
    CHECK_FALSE(file->damaged_at);
    if (file->cut_off_at) CHECK(*file->cut_off_at < length);
    last = file->jobs.size();
  }
  CHECK(last == whole->jobs.size());
}

TEST_CASE("a packet with other content is left out and counted") {
  std::string bytes = written(sample_jobs());
  const std::size_t at = bytes.rfind("completed");
  REQUIRE(at != std::string::npos);
  bytes[at] = 'X';
  const auto file = read_trace(bytes);
  REQUIRE(file);
  CHECK(file->damaged == 1);
  CHECK(file->damaged_at);
  CHECK(file->jobs.size() == sample_jobs().size() - 1);
}

TEST_CASE("what is no trace is not read") {
  CHECK_FALSE(read_trace(""));
  CHECK_FALSE(read_trace("# tracer: nop\n"));
  CHECK_FALSE(read_trace(std::string(100, '\0')));
}

TEST_CASE("a recording that was killed says so") {
  const auto file = read_trace(written(sample_jobs(), false));
  REQUIRE(file);
  CHECK_FALSE(file->ended);
  CHECK(trace_summary(*file).find("did not end by itself") != std::string::npos);
}

TEST_CASE("the summary begins with events, jobs, lost, unmatched") {
  CHECK(trace_summary(*read_trace(written(sample_jobs()))) == "15 events, 5 jobs, 2 events lost, 0 unmatched\n");
}

TEST_CASE("the CSV has every job, with exact and bound ends told apart") {
  const std::string csv = jobs_csv(*read_trace(written(sample_jobs())));
  const std::string second =
      "5:2,drm_sched,0000:03:00.0,vcs2,video,,77,,2101,2102,ffmpeg,11000000,20000000,20000000,28000000,exact,"
      "9000.000,8000.000,17000.000,3000.000,other_context,5:1,completed,,0\n";
  CHECK(csv.find(second) != std::string::npos);
  CHECK(csv.find(",29000000,by,") != std::string::npos);
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 6);
}

TEST_CASE("the longest jobs come with what held them") {
  const std::string top = top_jobs(*read_trace(written(sample_jobs())), 3);
  CHECK(std::count(top.begin(), top.end(), '\n') == 4);
  CHECK(top.find("reset or error") != std::string::npos);
  CHECK(top.find("waits on another context") != std::string::npos);
  CHECK(top.find("ffmpeg 2101 on 0000:03:00.0 vcs2") != std::string::npos);
}

TEST_CASE("labels of what made a job late") {
  CHECK(blocker(job(1, 0, 10, 11)) == "long queue");
  CHECK(blocker(job(1, 0, 1, 11)) == "slow run");
  Job waits = job(1, 0, 10, 11);
  waits.hold = JobHold::dependency;
  CHECK(blocker(waits) == "waits for a dependency");
  Job hung = job(1, 0, 10, 0);
  hung.outcome = JobOutcome::unfinished;
  CHECK(blocker(hung) == "did not end");
}

TEST_CASE("the run histogram has exact ends only") {
  const auto file = read_trace(written(sample_jobs()));
  const std::string run = job_histogram(*file, TraceArguments::Histogram::run);
  std::size_t jobs = 0;
  for (std::size_t at = run.find('\n'); at != std::string::npos; at = run.find('\n', at + 1))
    if (at + 14 < run.size()) jobs += std::stoul(run.substr(at + 15, 10));
  CHECK(jobs == 2);
}

TEST_CASE("names from a trace cannot control a terminal") {
  std::vector<Job> jobs = {job(1, 10, 10, 20)};
  jobs[0].comm = "a\x1b[2J";
  jobs[0].ring = "\x07,x\"";
  jobs.push_back(job(2, 20, 20, 30));
  jobs[1].comm = "\x9b\xe2\x80\xae\xc2\x9b";
  jobs[1].ring = "Gr\xc3\xbc\xe6\x97";
  const auto file = read_trace(written(jobs));
  for (const std::string& text : {jobs_csv(*file), top_jobs(*file, 5), trace_overview(*file), timeline(*file, {})}) {
    CHECK(text.find('\x1b') == std::string::npos);
    CHECK(text.find('\x07') == std::string::npos);
    CHECK(valid_utf8(text) == text);
  }
  for (const std::string& text : {top_jobs(*file, 5), trace_overview(*file), timeline(*file, {})}) {
    CHECK(text.find("\xc2\x9b") == std::string::npos);
    CHECK(text.find("\xe2\x80\xae") == std::string::npos);
  }
}

TEST_CASE("a name of wide or cut characters keeps the timeline's lanes in their columns") {
  std::vector<Job> jobs = {job(1, 0, 0, 50)};
  jobs[0].device = "0000:03:00.0";
  jobs[0].ring = "\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e";
  TraceArguments arguments;
  arguments.width = 80;
  std::istringstream lines(timeline(*read_trace(written(jobs)), arguments));
  std::size_t lanes = 0;
  for (std::string line; std::getline(lines, line);) {
    CAPTURE(line);
    CHECK(valid_utf8(line) == line);
    if (!line.ends_with('|')) continue;
    CHECK(cell_width(line) == 80);
    ++lanes;
  }
  CHECK(lanes == 2);
}

TEST_CASE("the timeline draws engines and threads") {
  std::vector<Job> jobs = {job(1, 0, 0, 50), job(2, 0, 50, 100)};
  for (Job& one : jobs) one.submit_ns += 1;
  jobs[0].start_ns += 1;
  TraceArguments arguments;
  arguments.width = 46;
  arguments.to_seconds = 0.2;
  const std::string text = timeline(*read_trace(written(jobs)), arguments);
  CHECK(text.find("|##########          |") != std::string::npos);
  CHECK(text.find("ffmpeg 2102") != std::string::npos);
}
