// SPDX-License-Identifier: Apache-2.0
#include "run/registry.h"

#include <condition_variable>
#include <utility>

#include "machine/this_process.h"
#include "run/core.h"
#include "run/run.h"

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
  static void loop(State& state) {
    name_this_thread("collect");
    std::unique_lock lock(state.mutex);
    for (;;) {
      state.changed.wait(lock, [&] { return state.stopping || state.job; });
      if (!state.job) return;
      std::function<void()> job = std::exchange(state.job, nullptr);
      lock.unlock();
      job();
      job = nullptr;  // frees what it holds before the next wait
      lock.lock();
    }
  }

  std::shared_ptr<State> state_;
  std::thread thread_;
};

Registry::Registry(std::shared_ptr<void> keep_alive, Machine& machine, RegistryOptions registry_options,
                   std::vector<ConfiguredCollector> collectors, Log& log)
    : core_(std::make_shared<RegistryCore>(std::move(keep_alive), machine, std::move(registry_options),
                                           std::move(collectors), log)) {}

Registry::~Registry() {
  if (!current_) return;
  current_->cut_short();
  (void)current_->wait({});  // a hanging read delays this by collector_timeout at most
}

std::shared_ptr<RegistryRun> Registry::start(const Request& request) {
  current_.reset();  // the memory of its page is reused
  const auto execute = [this](const std::shared_ptr<RegistryRun>& run, int epoch) {
    if (core_->options.on_calling_thread) return run->execute(epoch);
    if (!worker_) worker_ = std::make_unique<Worker>(core_->options.make_thread);
    worker_->submit([run, epoch] { run->execute(epoch); });
  };
  const auto self = std::make_shared<std::weak_ptr<RegistryRun>>();
  auto run = std::make_shared<RegistryRun>(core_, request, [this, execute, self](int epoch) {
    worker_->abandon();
    worker_.reset();
    if (epoch >= 0) execute(self->lock(), epoch);
  });
  *self = run;
  execute(run, 0);
  current_ = run;
  return run;
}

std::shared_ptr<const ScrapeResult> Registry::run(const Request& request) {
  const WaitLimit limit = WaitLimit::within(request.deadline);
  if (current_) (void)current_->wait({});
  return start(request)->result(request.collectors, limit, {});
}

Nanoseconds Registry::accumulating_due_after() const { return core_->accumulating_due_after; }

std::shared_ptr<const std::vector<Gpu>> Registry::gpus() const {
  const std::lock_guard lock(core_->known_mutex);
  return core_->known_gpus;
}

}  // namespace igpu
