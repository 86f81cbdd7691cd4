// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "igpu/error.h"
#include "igpu/sampling.h"
#include "machine/interval_timer.h"
#include "machine/this_process.h"

namespace igpu {
namespace {

// Throws InvalidOption.
Nanoseconds checked_interval(Nanoseconds interval) {
  if (interval < std::chrono::milliseconds(1) || interval > std::chrono::hours(24 * 365))
    throw InvalidOption("an interval is a millisecond or longer, and at most a year", "");
  return interval;
}

// Throws InvalidOption or SystemFailure.
IntervalTimer make_timer(Nanoseconds interval) {
  (void)checked_interval(interval);
  try {
    return IntervalTimer(interval);
  } catch (const std::system_error& error) {
    throw SystemFailure("no timer for samples", error.code(),
                        "raise the limit of open files (ulimit -n, LimitNOFILE=)");
  }
}

}  // namespace

struct SampleTimer::State {
  State(OpenGpu opened, Nanoseconds interval) : gpu(std::move(opened)), timer(make_timer(interval)) {}

  OpenGpu gpu;
  IntervalTimer timer;
  std::uint64_t missed = 0;
  std::vector<Next*> waiting;
  bool ended = false;
  const int process = current_process_id();
};

SampleTimer::SampleTimer(OpenGpu gpu, Nanoseconds interval)
    : state_(std::make_unique<State>(std::move(gpu), interval)) {}
SampleTimer::SampleTimer(SampleTimer&&) noexcept = default;
SampleTimer& SampleTimer::operator=(SampleTimer&& other) noexcept {
  std::swap(state_, other.state_);
  return *this;
}

SampleTimer::~SampleTimer() {
  if (!state_) return;
  const auto ended = std::make_exception_ptr(SamplingEnded("the timer has ended", ""));
  state_->ended = true;
  while (!state_->waiting.empty()) {
    Next* const next = state_->waiting.back();
    state_->waiting.pop_back();
    next->waiting_ = false;
    next->error_ = ended;
    next->handle_.resume();
  }
}

int SampleTimer::descriptor() const noexcept { return state_->timer.descriptor(); }
std::uint64_t SampleTimer::missed() const noexcept { return state_->missed; }

std::optional<Snapshot> SampleTimer::read() {
  if (state_->process != current_process_id())
    throw SamplingEnded("this timer belongs to the process that was forked", "make a timer in this process");
  const std::uint64_t due = state_->timer.expirations();
  if (due == 0) return std::nullopt;
  state_->missed += due - 1;
  return state_->gpu.read();
}

bool SampleTimer::dispatch() {
  std::optional<Snapshot> snapshot;
  std::exception_ptr error;
  try {
    snapshot = read();
  } catch (...) {
    error = std::current_exception();
  }
  if (!snapshot && !error) return false;
  // Only those that wait now: a coroutine that waits again waits for the next reading. One may end another that is
  // still in the list, which its destructor then leaves.
  std::vector<Next*>& waiting = state_->waiting;
  std::vector<Next*> resumed = waiting;
  for (Next* const next : resumed) {
    const auto at = std::ranges::find(waiting, next);
    if (at == waiting.end() || !next->waiting_) continue;
    waiting.erase(at);
    next->waiting_ = false;
    next->snapshot_ = snapshot;
    next->error_ = error;
    next->handle_.resume();
  }
  return true;
}

// By value as in the ABI. NOLINTNEXTLINE(performance-unnecessary-value-param)
void SampleTimer::run(std::stop_token stop) {
  while (!state_->waiting.empty() && !stop.stop_requested() && state_->timer.wait(stop)) (void)dispatch();
}

SampleTimer::Next::~Next() {
  if (waiting_) std::erase(state_->waiting, this);
}

bool SampleTimer::Next::await_ready() const noexcept { return state_->ended; }

void SampleTimer::Next::await_suspend(std::coroutine_handle<> handle) {
  handle_ = handle;
  state_->waiting.push_back(this);
  waiting_ = true;
}

Snapshot SampleTimer::Next::await_resume() {
  if (state_->ended && !error_ && !snapshot_) throw SamplingEnded("the timer has ended", "");
  if (error_) std::rethrow_exception(error_);
  return std::move(*snapshot_);
}

struct Sampler::State {
  State(OpenGpu opened, Nanoseconds period, Callback callback_for_snapshots)
      : gpu(std::move(opened)), interval(checked_interval(period)), callback(std::move(callback_for_snapshots)) {}

  void run() {
    running_on = std::this_thread::get_id();
    std::exception_ptr thrown;
    try {
      sample();
    } catch (...) {
      thrown = std::current_exception();
    }
    const std::lock_guard lock(mutex);
    error = std::move(thrown);
    ended = true;
    changed.notify_all();
  }

  void sample() {
    const std::stop_token token = stop.get_token();
    auto due = SteadyClock::now() + interval;
    for (;;) {
      {
        std::unique_lock lock(mutex);
        changed.wait_until(lock, token, due, [] { return false; });
      }
      if (token.stop_requested()) return;
      const Snapshot snapshot = gpu.read();
      if (token.stop_requested()) return;
      callback(snapshot);
      due += interval;
      const auto late = SteadyClock::now() - due;
      if (late < Nanoseconds::zero()) continue;
      const auto left_out = late / interval + 1;
      missed += static_cast<std::uint64_t>(left_out);
      due += left_out * interval;
    }
  }

  using SteadyClock = std::chrono::steady_clock;

  OpenGpu gpu;
  const Nanoseconds interval;
  const Callback callback;
  std::atomic<std::uint64_t> missed{0};
  std::stop_source stop;
  std::optional<std::stop_callback<std::function<void()>>> stopped_by_caller;

  mutable std::mutex mutex;
  std::condition_variable_any changed;
  bool ended = false;
  std::exception_ptr error;

  bool on_own_thread() const { return running_on == std::this_thread::get_id(); }

  const int process = current_process_id();
  std::atomic<std::thread::id> running_on;
  bool abandoned = false;  // the callback destroyed the Sampler: its thread deletes this
  std::thread thread;
};

Sampler::Sampler(OpenGpu gpu, Nanoseconds interval, Callback callback, std::stop_token stop) {
  if (!callback) throw InvalidOption("Sampler needs a callback", "");
  auto state = std::make_unique<State>(std::move(gpu), interval, std::move(callback));
  state->stopped_by_caller.emplace(std::move(stop), [source = state->stop]() mutable { source.request_stop(); });
  const SignalsBlocked signals_blocked;
  try {
    state->thread = std::thread([sampled = state.get()] {
      sampled->run();
      const std::unique_ptr<State> last_owner(sampled->abandoned ? sampled : nullptr);
    });
  } catch (const std::system_error& error) {
    throw SystemFailure("no thread for samples", error.code(), "raise the limit of threads (ulimit -u, TasksMax=)");
  }
  state_ = std::move(state);
}

Sampler::Sampler(Sampler&&) noexcept = default;

Sampler& Sampler::operator=(Sampler&& other) noexcept {
  const Sampler ended(std::move(*this));
  state_ = std::move(other.state_);
  return *this;
}

// In the child of a fork there is no such thread to join, and it may have held any of the locks: only descriptors are
// closed there.
Sampler::~Sampler() {
  if (!state_) return;
  if (state_->process != current_process_id()) {
    const OpenGpu closed(std::move(state_->gpu));
    (void)state_.release();
    return;
  }
  state_->stop.request_stop();
  if (state_->on_own_thread()) {
    state_->thread.detach();
    state_.release()->abandoned = true;
    return;
  }
  state_->thread.join();
}

void Sampler::stop() noexcept { state_->stop.request_stop(); }

void Sampler::wait() {
  State& state = *state_;
  if (state.process != current_process_id()) return;
  if (state.on_own_thread())
    throw SystemFailure("a callback cannot wait for its own sampler",
                        std::make_error_code(std::errc::resource_deadlock_would_occur), "call stop() there");
  std::unique_lock lock(state.mutex);
  state.changed.wait(lock, [&] { return state.ended; });
  if (state.error) std::rethrow_exception(state.error);
}

bool Sampler::running() const noexcept {
  if (state_->process != current_process_id()) return false;
  const std::lock_guard lock(state_->mutex);
  return !state_->ended;
}

std::exception_ptr Sampler::error() const {
  if (state_->process != current_process_id()) return nullptr;
  const std::lock_guard lock(state_->mutex);
  return state_->error;
}

std::uint64_t Sampler::missed() const noexcept { return state_->missed; }

}  // namespace igpu
