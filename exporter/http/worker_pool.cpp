// SPDX-License-Identifier: Apache-2.0
#include "http/worker_pool.h"

#include <pthread.h>

#include <system_error>
#include <utility>

namespace igpu::exporter {

WorkerPool::WorkerPool(unsigned threads, Run run) : run_(std::move(run)) {
  idle_.reserve(threads);
  threads_.reserve(threads);
  try {
    while (threads_.size() < threads) threads_.emplace_back([this] { work(); });
  } catch (const std::system_error& error) {
    stop();
    throw std::system_error(error.code(), "the HTTP server needs " + std::to_string(threads) + " threads");
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
  if (worker != nullptr) worker->woken.notify_one();
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

void WorkerPool::work() {
  ::pthread_setname_np(::pthread_self(), "worker");
  Worker self;
  Queue taken;
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (queue_.empty()) {
      self.called = false;
      idle_.push_back(&self);
      self.woken.wait(lock, [&self] { return self.called; });
      continue;
    }
    queued_.erase(queue_.front().ticket);
    taken.splice(taken.end(), queue_, queue_.begin());
    lock.unlock();
    run_(taken.front());
    taken.clear();
    lock.lock();
  }
}

// Requires the lock. Null: all are busy and check the queue when they finish.
WorkerPool::Worker* WorkerPool::call_idle_worker() {
  if (idle_.empty()) return nullptr;
  Worker* const worker = idle_.back();
  idle_.pop_back();
  worker->called = true;
  return worker;
}

}  // namespace igpu::exporter
