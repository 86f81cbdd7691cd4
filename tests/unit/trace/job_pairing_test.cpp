// SPDX-License-Identifier: Apache-2.0
#include "trace/job_pairing.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace igpu;

namespace {

constexpr std::uint64_t kMs = 1'000'000;
constexpr std::uint64_t kEngine = 100;

// One machine's events, in milliseconds.
struct Course {
  explicit Course(std::size_t in_flight = JobPairing::kInFlight)
      : pairing([this](const Job& job) { jobs.push_back(job); }, in_flight) {}

  JobEvent event(JobEventKind kind, double ms, std::uint64_t key) {
    JobEvent event;
    event.kind = kind;
    event.source = source;
    event.time_ns = static_cast<std::uint64_t>(ms * kMs);
    event.key = {7, key};
    return event;
  }
  void submit(double ms, std::uint64_t key, std::uint64_t context = 1, const char* ring = "rcs1",
              std::uint64_t engine = kEngine) {
    JobEvent submitted = event(JobEventKind::submitted, ms, key);
    submitted.context = context;
    submitted.engine = engine;
    submitted.ring = ring;
    submitted.engine_class = JobClass::render;
    submitted.pid = 40;
    submitted.tid = 41;
    submitted.number = key;
    pairing.add(submitted);
  }
  void hand_over(double ms, std::uint64_t key, std::uint32_t tid = 9) {
    JobEvent handed_over = event(JobEventKind::handed_over, ms, key);
    handed_over.tid = tid;
    pairing.add(handed_over);
  }
  void end(double ms, std::uint64_t key, bool in_interrupt = true, std::uint32_t tid = 0) {
    JobEvent ended = event(JobEventKind::ended, ms, key);
    ended.in_interrupt = in_interrupt;
    ended.tid = tid;
    pairing.add(ended);
  }
  void depend(double ms, std::uint64_t key, std::uint64_t on) {
    JobEvent dependency = event(JobEventKind::dependency, ms, key);
    dependency.other = {7, on};
    pairing.add(dependency);
  }
  const Job& last() const {
    REQUIRE_FALSE(jobs.empty());
    return jobs.back();
  }

  JobSource source = JobSource::drm_sched;
  std::vector<Job> jobs;
  JobPairing pairing;
};

}  // namespace

TEST_SUITE_BEGIN("job pairing");

TEST_CASE("a job has the times of its three events and the process that submitted it") {
  Course course;
  course.submit(1, 5);
  course.hand_over(3, 5);
  course.end(10, 5);
  const Job& job = course.last();
  CHECK(job.submit_ns == 1 * kMs);
  CHECK(job.handed_over_ns == 3 * kMs);
  CHECK(job.start_ns == 3 * kMs);
  CHECK(job.end_ns == 10 * kMs);
  CHECK(job.queue_ns() == 2 * kMs);
  CHECK(job.run_ns() == 7 * kMs);
  CHECK(job.total_ns() == 9 * kMs);
  CHECK(job.outcome == JobOutcome::completed);
  CHECK(job.hold == JobHold::scheduler);
  CHECK(job.pid == 40);
  CHECK(job.tid == 41);
  CHECK(job.ring.view() == "rcs1");
  CHECK(course.pairing.in_flight() == 0);
}

TEST_CASE("a job starts when the job before it on its engine ends") {
  Course course;
  course.submit(0, 1, 1);
  course.submit(0, 2, 2, "rcs2");
  course.hand_over(1, 1);
  course.hand_over(1, 2);
  course.end(21, 1);
  course.end(31, 2);
  const Job& job = course.last();
  CHECK(job.start_ns == 21 * kMs);
  CHECK(job.run_ns() == 10 * kMs);
  CHECK(job.hold == JobHold::other_context);
  CHECK(job.held_by == JobKey{7, 1});
}

TEST_CASE("a job behind another one of its own context is held by that context") {
  Course course;
  course.submit(0, 1);
  course.submit(0, 2);
  course.hand_over(1, 1);
  course.hand_over(1, 2);
  course.end(21, 1);
  course.end(31, 2);
  CHECK(course.last().hold == JobHold::same_context);
}

TEST_CASE("jobs of different engines do not delay each other") {
  Course course;
  course.submit(0, 1, 1, "rcs1", 100);
  course.submit(0, 2, 2, "vcs2", 200);
  course.hand_over(1, 1);
  course.hand_over(1, 2);
  course.end(21, 1);
  course.end(31, 2);
  CHECK(course.last().start_ns == 1 * kMs);
}

TEST_CASE("without an engine the context counts as one") {
  Course course;
  course.submit(0, 1, 1, "vcs1", 0);
  course.submit(0, 2, 1, "vcs1", 0);
  course.hand_over(1, 1);
  course.hand_over(1, 2);
  course.end(21, 1);
  course.end(31, 2);
  CHECK(course.last().start_ns == 21 * kMs);
}

TEST_CASE("a job that waited for another job says for how long and for which one") {
  Course course;
  course.submit(0, 1, 1, "rcs1", 100);
  course.hand_over(0, 1);
  course.submit(2, 2, 2, "vcs2", 200);
  course.depend(2, 2, 1);
  course.end(20, 1);
  course.hand_over(20.5, 2);
  course.end(28, 2);
  const Job& job = course.last();
  CHECK(job.dependency_ns == 18 * kMs);
  CHECK(job.hold == JobHold::dependency);
  CHECK(job.held_by == JobKey{7, 1});
  CHECK(job.start_ns == static_cast<std::uint64_t>(20.5 * kMs));
}

TEST_CASE("a dependency that is no job counts until the job is handed over") {
  Course course;
  course.submit(2, 2);
  course.depend(2, 2, 99);
  course.hand_over(12, 2);
  course.end(28, 2);
  CHECK(course.last().dependency_ns == 10 * kMs);
  CHECK(course.last().hold == JobHold::dependency);
  CHECK(course.last().held_by == JobKey{7, 99});
}

TEST_CASE("a dependency that is added before its job is submitted counts, too") {
  Course course;
  course.submit(0, 1, 1, "rcs1", 100);
  course.depend(2, 2, 1);
  course.submit(2, 2, 2, "vcs2", 200);
  course.hand_over(0, 1);
  course.end(20, 1);
  course.hand_over(21, 2);
  course.end(28, 2);
  CHECK(course.last().dependency_ns == 18 * kMs);
  CHECK(course.last().hold == JobHold::dependency);
  CHECK(course.pairing.counts().unmatched == 0);
}

TEST_CASE("older kernels name the waiting job by its ring and number") {
  Course course;
  course.submit(0, 1, 1, "rcs1", 100);
  course.submit(0, 2, 2, "vcs2", 200);
  JobEvent wait;
  wait.kind = JobEventKind::dependency;
  wait.ring = "vcs2";
  wait.number = 2;
  wait.other = {7, 1};
  course.pairing.add(wait);
  course.hand_over(0, 1);
  course.end(20, 1);
  course.hand_over(21, 2);
  course.end(28, 2);
  CHECK(course.last().dependency_ns == 20 * kMs);
  CHECK(course.pairing.counts().unmatched == 0);
}

TEST_CASE("the address of a ring's name is learned from the one job that it can mean") {
  Course course;
  const auto wait = [&](std::uint64_t number, std::uint64_t on) {
    JobEvent event;
    event.kind = JobEventKind::dependency;
    event.ring_address = 0xffff1000;
    event.number = number;
    event.other = {7, on};
    course.pairing.add(event);
  };
  course.submit(0, 1, 1, "rcs1", 100);
  course.submit(0, 2, 2, "vcs2", 200);
  wait(2, 1);  // job 2 exists once
  // Another ring's job gets the same number later: the address is known by now.
  JobEvent same_number = course.event(JobEventKind::submitted, 1, 30);
  same_number.ring = "rcs1";
  same_number.number = 3;
  course.pairing.add(same_number);
  same_number.key = {7, 31};
  same_number.ring = "vcs2";
  course.pairing.add(same_number);
  wait(3, 1);
  course.hand_over(0, 1);
  course.end(20, 1);
  course.hand_over(21, 31);
  course.end(28, 31);
  CHECK(course.last().dependency_ns == 19 * kMs);
}

TEST_CASE("an address that can mean several jobs is not guessed") {
  Course course;
  JobEvent submitted = course.event(JobEventKind::submitted, 1, 30);
  submitted.number = 3;
  submitted.ring = "rcs1";
  course.pairing.add(submitted);
  submitted.key = {7, 31};
  submitted.ring = "vcs2";
  course.pairing.add(submitted);
  JobEvent wait;
  wait.kind = JobEventKind::dependency;
  wait.ring_address = 0xffff1000;
  wait.number = 3;
  wait.other = {7, 1};
  course.pairing.add(wait);
  CHECK(course.pairing.counts().unmatched == 1);
}

TEST_CASE("an end outside an interrupt is a bound") {
  Course course;
  course.submit(0, 1);
  course.hand_over(1, 1, 9);
  course.end(5, 1, false, 10);
  CHECK(course.last().outcome == JobOutcome::bound);
  CHECK(course.last().end_ns == 5 * kMs);
}

TEST_CASE("i915: retirement ends a job that nobody waited for, as a bound that does not delay the next job") {
  Course course;
  course.source = JobSource::i915;
  course.submit(0, 1);
  course.submit(1, 2, 2);
  course.end(3, 2);
  CHECK(course.last().outcome == JobOutcome::completed);
  course.submit(4, 3, 2);
  course.pairing.add(course.event(JobEventKind::retired, 300, 1));
  CHECK(course.last().outcome == JobOutcome::bound);
  course.end(305, 3);
  CHECK(course.last().start_ns == 4 * kMs);
  // Retirement after the end, and fences of other drivers, are no losses.
  course.pairing.add(course.event(JobEventKind::retired, 306, 3));
  course.end(307, 77);
  CHECK(course.pairing.counts().unmatched == 0);
}

TEST_CASE("xe: a job that ends in the thread that handed it over belongs to a long-running VM") {
  Course course;
  course.submit(0, 1);
  course.hand_over(1, 1, 9);
  course.end(1.01, 1, false, 9);
  CHECK(course.last().outcome == JobOutcome::long_running);
  CHECK_FALSE(course.last().ended());

  // Not on a queue whose jobs end from interrupts: there the job was over before the scheduler could wait for it.
  course.submit(2, 2, 5);
  course.hand_over(2, 2, 9);
  course.end(3, 2, true);
  course.submit(4, 3, 5);
  course.hand_over(4, 3, 9);
  course.end(4.01, 3, false, 9);
  CHECK(course.last().outcome == JobOutcome::bound);
}

TEST_CASE("a long-running job does not delay the next one") {
  Course course;
  course.submit(0, 1);
  course.hand_over(1, 1, 9);
  course.submit(0, 2, 2);
  course.hand_over(0.5, 2, 9);
  course.end(1.01, 1, false, 9);
  course.end(5, 2);
  CHECK(course.last().start_ns == kMs / 2);
}

TEST_CASE("an error on a queue belongs to its oldest job that was handed over") {
  Course course;
  course.submit(0, 1, 1, "rcs7");
  course.submit(0, 2, 1, "rcs7");
  course.submit(0, 3, 2, "rcs17");
  course.hand_over(1, 3);
  course.hand_over(1, 1);
  JobEvent reset;
  reset.kind = JobEventKind::error;
  reset.queue_number = 7;
  reset.error = -125;
  course.pairing.add(reset);
  course.end(300, 1);
  CHECK(course.last().outcome == JobOutcome::error);
  CHECK(course.last().error == -125);
  course.end(301, 3);
  CHECK(course.last().outcome == JobOutcome::completed);
  course.pairing.add(reset);  // job 2 was not handed over
  CHECK(course.pairing.counts().unmatched == 1);
}

TEST_CASE("a preempted job keeps its first start") {
  Course course;
  course.source = JobSource::i915;
  course.submit(0, 1);
  course.hand_over(1, 1);
  course.pairing.add(course.event(JobEventKind::preempted, 2, 1));
  course.hand_over(5, 1);
  course.end(9, 1);
  CHECK(course.last().preempted);
  CHECK(course.last().handed_over_ns == 1 * kMs);
}

TEST_CASE("beyond the limit the oldest job is evicted and counted") {
  Course course(2);
  course.submit(0, 1);
  course.submit(1, 2);
  course.submit(2, 3);
  CHECK(course.last().outcome == JobOutcome::evicted);
  CHECK(course.last().key.seqno == 1);
  CHECK_FALSE(course.last().ended());
  CHECK(course.pairing.counts().evicted == 1);
  CHECK(course.pairing.in_flight() == 2);
  course.end(3, 1);
  CHECK(course.pairing.counts().unmatched == 1);
  course.end(4, 3);
  CHECK(course.last().key.seqno == 3);
}

TEST_CASE("a key that is submitted again had lost its end") {
  Course course;
  course.submit(0, 1);
  course.hand_over(0, 1);
  course.submit(5, 1);
  CHECK(course.last().outcome == JobOutcome::evicted);
  CHECK(course.pairing.counts().replaced == 1);
  course.end(6, 1);
  CHECK(course.last().submit_ns == 5 * kMs);
}

TEST_CASE("events of unknown jobs are counted and make no job") {
  Course course;
  course.hand_over(1, 1);
  course.end(2, 1);
  course.depend(3, 1, 2);
  CHECK(course.jobs.empty());
  course.pairing.finish();
  CHECK(course.pairing.counts().unmatched == 3);
}

TEST_CASE("jobs in flight are reported as unfinished at the end, with the start they had") {
  Course course;
  course.submit(0, 1);
  course.submit(0, 2);
  course.hand_over(3, 2);
  course.pairing.finish();
  REQUIRE(course.jobs.size() == 2);
  CHECK(course.jobs[0].outcome == JobOutcome::unfinished);
  CHECK(course.jobs[0].start_ns == 0);
  CHECK(course.jobs[1].start_ns == 3 * kMs);
  CHECK(course.pairing.in_flight() == 0);
}

TEST_CASE("every job that was submitted comes out once, whatever is lost") {
  Course course(16);
  std::uint64_t random = 12345, submitted = 0;
  for (int step = 0; step < 20000; ++step) {
    random = random * 6364136223846793005 + 1442695040888963407;
    const std::uint64_t key = (random >> 33) % 64;
    switch ((random >> 60) % 4) {
      case 0:
        course.submit(step, key, key % 5);
        ++submitted;
        break;
      case 1: course.hand_over(step, key); break;
      case 2: course.end(step, key, key % 2 == 0); break;
      default: course.depend(step, key, key + 1);
    }
    CHECK(course.pairing.in_flight() <= 16);
  }
  course.pairing.finish();
  CHECK(course.jobs.size() == submitted);
  for (const Job& job : course.jobs) {
    if (!job.ended()) continue;
    CHECK(job.submit_ns <= job.start_ns);
    CHECK(job.start_ns <= job.end_ns);
  }
}

TEST_CASE("buckets end at powers of two microseconds") {
  CHECK(job_bucket(0) == 0);
  CHECK(job_bucket(16'000) == 0);
  CHECK(job_bucket(16'001) == 1);
  CHECK(job_bucket(32'000) == 1);
  CHECK(job_bucket((std::uint64_t{1} << 24) * 1000) == 20);
  CHECK(job_bucket((std::uint64_t{1} << 24) * 1000 + 1) == 21);
  CHECK(job_bucket(~std::uint64_t{0}) == 21);
}
