// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

namespace igpu {

// A thread that executes runs. It is kept from scrape to scrape, because starting a thread costs more than waking one.
// A caller that waits for a run cannot execute it instead: its thread may have dropped the rights to read the machine.
class Worker {
 public:
  using ThreadMaker = std::function<std::thread(std::function<void()>)>;

  explicit Worker(const ThreadMaker& make_thread) : state_(std::make_shared<State>()) {
    std::function<void()> body = [state = state_] { loop(*state); };
    thread_ = make_thread ? make_thread(std::move(body)) : std::thread(std::move(body));
  }
  ~Worker() {
    if (!thread_.joinable()) return;
    stop();
    thread_.join();
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  void submit(std::function<void()> job) {
    {
      const std::lock_guard lock(state_->mutex);
      state_->job = std::move(job);
    }
    state_->changed.notify_one();
  }
  // Detaches the thread, which ends when its job does.
  void abandon() {
    stop();
    thread_.detach();
  }

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    std::function<void()> job;
    bool stopping = false;
  };
  void stop() {
    const std::lock_guard lock(state_->mutex);
    state_->stopping = true;
    state_->changed.notify_one();
  }
  static void loop(State& state);

  std::shared_ptr<State> state_;
  std::thread thread_;
};

}  // namespace igpu
