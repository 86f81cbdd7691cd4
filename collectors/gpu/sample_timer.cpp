// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>
#include <vector>

#include "gpu/sampling_interval.h"
#include "igpu/sampling.h"
#include "machine/this_process.h"

namespace igpu {

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

}  // namespace igpu
