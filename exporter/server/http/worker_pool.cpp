// SPDX-License-Identifier: Apache-2.0
#include "server/http/worker_pool.h"

#include <exception>
#include <system_error>
#include <utility>

#include "platform/thread.h"

namespace igpu::exporter {

WorkerPool::WorkerPool(unsigned most_threads, Run run) : most_threads_(most_threads), run_(std::move(run)) {
  idle_.reserve(most_threads);
  threads_.reserve(most_threads);
  try {
    start_worker(true);
  } catch (const std::system_error& error) {
    throw std::system_error(error.code(), "the HTTP server cannot start a thread");
  }
}

WorkerPool::~WorkerPool() { stop(); }

void WorkerPool::submit(Job job) {
  Queue added;  // allocated before the lock is taken
  added.push_back(std::move(job));
  Worker* worker = nullptr;
  {
    const std::lock_guard lock(mutex_);
    queued_.insert_or_assign(added.front().ticket, added.begin());
    queue_.splice(queue_.end(), added);
    worker = call_idle_worker();
  }
  if (worker != nullptr) {
    worker->woken.notify_one();
  } else if (threads_.size() < most_threads_) {
    try {
      start_worker(false);
    } catch (const std::exception&) {  // no memory, or a limit on processes: the threads that run take the job
    }
  }
}

bool WorkerPool::withdraw(Ticket ticket) {
  Queue withdrawn;  // freed after the lock is released
  const std::lock_guard lock(mutex_);
  const auto found = queued_.find(ticket);
  if (found == queued_.end()) return false;
  withdrawn.splice(withdrawn.end(), queue_, found->second);
  queued_.erase(found);
  return true;
}

void WorkerPool::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    queued_.clear();
    queue_.clear();
    while (Worker* const worker = call_idle_worker()) worker->woken.notify_one();
  }
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void WorkerPool::start_worker(bool idle) {
  Worker& worker = workers_.emplace_back();
  if (idle) become_idle(worker);
  try {
    threads_.emplace_back([this, &worker] { work(worker); });
  } catch (...) {
    if (idle) idle_.clear();  // only the first one begins idle
    workers_.pop_back();
    throw;
  }
}

// Requires the lock, or that no other thread exists.
void WorkerPool::become_idle(Worker& worker) {
  worker.idle = true;
  idle_.push_back(&worker);
}

void WorkerPool::work(Worker& self) {
  name_thread("worker");
  const std::function<void()> free = [this, &self] {
    const std::lock_guard lock(mutex_);
    if (queue_.empty() && !stopping_) become_idle(self);
  };
  Queue taken;
  std::unique_lock lock(mutex_);
  for (;;) {
    self.woken.wait(lock, [&self] { return !self.idle; });
    if (stopping_) return;
    if (queue_.empty()) {
      become_idle(self);
      continue;
    }
    queued_.erase(queue_.front().ticket);
    taken.splice(taken.end(), queue_, queue_.begin());
    lock.unlock();
    run_(taken.front(), free);
    taken.clear();
    lock.lock();
  }
}

// Requires the lock. Null: all are busy and check the queue when they finish.
WorkerPool::Worker* WorkerPool::call_idle_worker() {
  if (idle_.empty()) return nullptr;
  Worker* const worker = idle_.back();
  idle_.pop_back();
  worker->idle = false;
  return worker;
}

}  // namespace igpu::exporter
