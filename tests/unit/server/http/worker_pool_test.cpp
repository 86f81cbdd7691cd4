// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "server/http/listener.h"

using namespace igpu::exporter;
using namespace std::chrono_literals;

namespace {

// Runs jobs that wait until they are released, and remembers who ran what.
class Recorder {
 public:
  void run(const WorkerPool::Job& job, const std::function<void()>& free) {
    std::unique_lock lock(mutex_);
    started_.push_back(job.ticket);
    threads_.push_back(std::this_thread::get_id());
    changed_.notify_all();
    changed_.wait(lock, [this] { return !held_; });
    lock.unlock();
    free();
    lock.lock();
    ++finished_;
    changed_.notify_all();
  }
  void hold(bool held) {
    const std::lock_guard lock(mutex_);
    held_ = held;
    changed_.notify_all();
  }
  bool wait_for_started(std::size_t number) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 60s, [&] { return started_.size() >= number; });
  }
  bool wait_for_finished(std::size_t number) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 60s, [&] { return finished_ >= number; });
  }
  std::vector<WorkerPool::Ticket> started() {
    const std::lock_guard lock(mutex_);
    return started_;
  }
  std::set<std::thread::id> threads() {
    const std::lock_guard lock(mutex_);
    return {threads_.begin(), threads_.end()};
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool held_ = false;
  std::size_t finished_ = 0;
  std::vector<WorkerPool::Ticket> started_;
  std::vector<std::thread::id> threads_;
};

std::size_t workers() {
  std::size_t count = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(task.path() / "comm"), name);
    count += name == "worker" ? 1 : 0;
  }
  return count;
}

WorkerPool::Job job(WorkerPool::Ticket ticket) { return {ticket, "GET / HTTP/1.1\r\n\r\n", "client", {}}; }

}  // namespace

TEST_SUITE_BEGIN("worker pool");

TEST_CASE("jobs run in the order of submission, as many at once as threads") {
  Recorder recorder;
  recorder.hold(true);
  WorkerPool pool(3, [&](const WorkerPool::Job& its, const auto& free) { recorder.run(its, free); });
  for (WorkerPool::Ticket ticket = 1; ticket <= 3; ++ticket) pool.submit(job(ticket));
  REQUIRE(recorder.wait_for_started(3));
  CHECK(recorder.threads().size() == 3);
  for (WorkerPool::Ticket ticket = 4; ticket <= 9; ++ticket) pool.submit(job(ticket));
  CHECK(recorder.started().size() == 3);
  recorder.hold(false);
  REQUIRE(recorder.wait_for_finished(9));
}

TEST_CASE("a thread is started when a job finds all others busy, and a thread that is idle takes the next job") {
  Recorder recorder;
  WorkerPool pool(8, [&](const WorkerPool::Job& its, const auto& free) { recorder.run(its, free); });
  recorder.hold(true);
  for (WorkerPool::Ticket ticket = 1; ticket <= 3; ++ticket) {
    pool.submit(job(ticket));
    REQUIRE(recorder.wait_for_started(ticket));
  }
  CHECK(workers() == 3);
  recorder.hold(false);
  REQUIRE(recorder.wait_for_finished(3));
}

TEST_CASE("a client that asks again when it has its answer never needs a second thread") {
  Recorder recorder;
  WorkerPool pool(8, [&](const WorkerPool::Job& its, const auto& free) { recorder.run(its, free); });
  for (WorkerPool::Ticket ticket = 1; ticket <= 5000; ++ticket) {
    pool.submit(job(ticket));
    REQUIRE(recorder.wait_for_finished(ticket));
  }
  CHECK(recorder.threads().size() == 1);
  CHECK(workers() == 1);
}

TEST_CASE("a single thread keeps the order") {
  Recorder recorder;
  recorder.hold(true);
  WorkerPool pool(1, [&](const WorkerPool::Job& its, const auto& free) { recorder.run(its, free); });
  for (WorkerPool::Ticket ticket = 9; ticket > 0; --ticket) pool.submit(job(ticket));
  recorder.hold(false);
  REQUIRE(recorder.wait_for_finished(9));
  CHECK(recorder.started() == std::vector<WorkerPool::Ticket>{9, 8, 7, 6, 5, 4, 3, 2, 1});
}

TEST_CASE("a job that is still queued can be withdrawn; one that runs or has run cannot") {
  Recorder recorder;
  recorder.hold(true);
  WorkerPool pool(1, [&](const WorkerPool::Job& its, const auto& free) { recorder.run(its, free); });
  pool.submit(job(1));
  REQUIRE(recorder.wait_for_started(1));
  for (WorkerPool::Ticket ticket = 2; ticket <= 4; ++ticket) pool.submit(job(ticket));
  CHECK_FALSE(pool.withdraw(1));
  CHECK(pool.withdraw(3));
  CHECK_FALSE(pool.withdraw(3));
  CHECK_FALSE(pool.withdraw(99));
  recorder.hold(false);
  REQUIRE(recorder.wait_for_finished(3));
  CHECK(recorder.started() == std::vector<WorkerPool::Ticket>{1, 2, 4});
  CHECK_FALSE(pool.withdraw(4));
}

TEST_CASE("a ticket may be reused while its first job runs") {
  Recorder recorder;
  recorder.hold(true);
  WorkerPool pool(1, [&](const WorkerPool::Job& its, const auto& free) { recorder.run(its, free); });
  pool.submit(job(1));
  REQUIRE(recorder.wait_for_started(1));
  pool.submit(job(1));
  CHECK(pool.withdraw(1));
  recorder.hold(false);
  REQUIRE(recorder.wait_for_finished(1));
  pool.stop();
  CHECK(recorder.started().size() == 1);
}

TEST_CASE("a stop waits for jobs that run and drops those that are queued") {
  Recorder recorder;
  recorder.hold(true);
  WorkerPool pool(2, [&](const WorkerPool::Job& its, const auto& free) { recorder.run(its, free); });
  for (WorkerPool::Ticket ticket = 1; ticket <= 2; ++ticket) pool.submit(job(ticket));
  REQUIRE(recorder.wait_for_started(2));
  for (WorkerPool::Ticket ticket = 3; ticket <= 9; ++ticket) pool.submit(job(ticket));
  std::thread releases([&] { recorder.hold(false); });
  pool.stop();
  releases.join();
  CHECK(recorder.wait_for_finished(2));
  pool.stop();
}

TEST_CASE("many jobs from one thread all run or are withdrawn, none of them twice") {
  Recorder recorder;
  WorkerPool pool(8, [&](const WorkerPool::Job& its, const auto& free) { recorder.run(its, free); });
  std::size_t withdrawn = 0;
  for (WorkerPool::Ticket ticket = 1; ticket <= 5000; ++ticket) {
    pool.submit(job(ticket));
    if (ticket % 3 == 0 && pool.withdraw(ticket)) ++withdrawn;
  }
  REQUIRE(recorder.wait_for_finished(5000 - withdrawn));
  pool.stop();
  const std::vector<WorkerPool::Ticket> started = recorder.started();
  CHECK(started.size() == 5000 - withdrawn);
  CHECK(std::set<WorkerPool::Ticket>(started.begin(), started.end()).size() == started.size());
}

TEST_SUITE_END();
