// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

namespace igpu::exporter {

// Threads that run jobs from one FIFO queue. The thread that became idle last is woken first, so that a few threads do
// the work with warm caches while the others are a reserve.
class WorkerPool {
 public:
  using Ticket = std::uint64_t;
  struct Job {
    Ticket ticket = 0;     // unique among queued jobs
    std::string head;      // the request's
    std::string client;    // HttpRequest::client()
    std::stop_token gone;  // HttpRequest::gone()
  };
  using Run = std::function<void(const Job& job)>;  // must not throw

  // Throws std::system_error unless all threads can be started.
  WorkerPool(unsigned threads, Run run);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  void submit(Job job);
  // True: the job was still queued and will not run.
  bool withdraw(Ticket ticket);

  // Drops queued jobs and waits for running ones. Idempotent; do not submit anything after it.
  void stop();

 private:
  using Queue = std::list<Job>;
  struct Worker {
    std::condition_variable woken;
    bool called = false;
  };

  void work();
  Worker* call_idle_worker();

  const Run run_;
  std::mutex mutex_;
  Queue queue_;
  std::unordered_map<Ticket, Queue::iterator> queued_;
  std::vector<Worker*> idle_;  // the last one became idle last
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace igpu::exporter
