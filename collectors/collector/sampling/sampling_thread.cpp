// SPDX-License-Identifier: Apache-2.0
#include "collector/sampling/sampling_thread.h"

#include <exception>
#include <utility>

#include "machine/this_process.h"

namespace igpu::sampling {
namespace {

Nanoseconds steady_now() { return std::chrono::steady_clock::now().time_since_epoch(); }

}  // namespace

SamplingThread::SamplingThread(std::shared_ptr<Sampler> sampler, Options options)
    : state_(std::make_shared<State>(std::move(sampler), std::move(options))) {
  const SignalsBlocked signals_blocked;
  thread_ = std::thread([state = state_] {
    name_this_thread("sample");
    run(*state);
  });
}

void SamplingThread::run(State& state) {
  while (const std::uint64_t expirations = state.timer.wait()) {
    state.tick_began = steady_now();
    tick(state, expirations);
    state.tick_began = Nanoseconds::zero();
  }
  const std::lock_guard lock(state.mutex);
  state.ended = true;
  state.changed.notify_all();
}

void SamplingThread::tick(State& state, std::uint64_t expirations) {
  try {
    state.sampler->tick(expirations);
  } catch (const std::exception& error) {
    const std::lock_guard lock(state.mutex);
    state.exception = error.what();
  }
}

SamplingThread::~SamplingThread() {
  state_->timer.stop();
  const bool ended = [this] {
    std::unique_lock lock(state_->mutex);
    return state_->changed.wait_for(lock, state_->options.longest_tick, [this] { return state_->ended; });
  }();
  if (ended) {
    thread_.join();
  } else {
    thread_.detach();
  }
}

Nanoseconds SamplingThread::under_way() const {
  const Nanoseconds began = state_->tick_began;
  return began == Nanoseconds::zero() ? began : steady_now() - began;
}

std::uint64_t SamplingThread::overdue() const {
  const auto due = under_way() / state_->options.interval;
  return due > 1 ? static_cast<std::uint64_t>(due - 1) : 0;  // one of them will be taken
}

Reading<Unit> SamplingThread::outcome() {
  if (under_way() > state_->options.longest_tick)
    return Failure{std::make_error_code(std::errc::timed_out), "sampling: a tick has not come back"};
  const std::lock_guard lock(state_->mutex);
  if (const auto exception = std::exchange(state_->exception, std::nullopt))
    return Failure{std::make_error_code(std::errc::state_not_recoverable), "sampling: exception: " + *exception};
  return Unit{};
}

}  // namespace igpu::sampling
