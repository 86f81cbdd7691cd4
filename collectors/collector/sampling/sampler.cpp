// SPDX-License-Identifier: Apache-2.0
#include "collector/sampling/sampler.h"

#include <algorithm>
#include <bit>
#include <exception>
#include <utility>

#include "collector/sampling/flight_recorder.h"
#include "machine/this_process.h"

namespace igpu::sampling {
namespace {

bool same_binding(const Gpu& a, const Gpu& b) {
  return a.address == b.address && a.binding == b.binding && a.driver == b.driver && a.card == b.card &&
         a.render_node == b.render_node;
}

Nanoseconds steady_now() { return std::chrono::steady_clock::now().time_since_epoch(); }

}  // namespace

void Sampler::follow(const std::vector<AccessibleGpu>& gpus) {
  const std::lock_guard lock(mutex_);
  followed_ = gpus;
  has_followed_ = true;
}

// Readers are made and destroyed on the sampling thread, since they open and close what they read.
void Sampler::adopt_gpus() {
  if (!has_followed_) return;
  std::optional<std::vector<AccessibleGpu>> followed;
  {
    const std::lock_guard lock(mutex_);
    followed.swap(followed_);
    has_followed_ = false;
    add_up();  // before layouts change
  }
  if (!followed) return;
  // If one cannot be made, none is left, and the next scrape tells which GPUs there are.
  std::vector<SampledReader> before = std::exchange(readers_, {});
  std::vector<SampledReader> next;
  for (AccessibleGpu& gpu : *followed) {
    const auto known = std::ranges::find_if(before, [&](const SampledReader& one) {
      return one.reader && same_binding(one.reader->gpu().gpu, gpu.gpu) && !one.reader->gpu().access->gone();
    });
    if (known != before.end()) {
      next.push_back(std::move(*known));
      continue;
    }
    auto reader = std::make_unique<GpuReader>(machine_, gpu);
    const FrameLayout& layout = reader->layout();
    if (options_.recorder) options_.recorder->bind(layout);
    const std::lock_guard lock(mutex_);
    SampledGpu& sampled = gpus_[gpu.gpu.address];
    if (sampled.layout.device.empty()) {
      sampled.first_series = windows_.series();
      windows_.add_series(kSeries);
    }
    // What the numbers of the previous binding meant may be something else now.
    windows_.clear(sampled.first_series, kSeries);
    sampled.bound = true;
    sampled.state = GpuState::sampled;
    take_layout(sampled, layout);
    next.push_back({std::move(reader), &sampled});
  }
  before.clear();  // closes the files of the others
  readers_ = std::move(next);
  const std::lock_guard lock(mutex_);
  for (auto& [device, gpu] : gpus_)
    gpu.bound =
        std::ranges::any_of(readers_, [&sampled = gpu](const SampledReader& one) { return one.gpu == &sampled; });
}

void Sampler::tick(std::uint64_t expirations) {
  adopt_gpus();
  const std::uint64_t missed = expirations > 1 ? expirations - 1 : 0;
  missed_ += missed;
  bool some_gone = false;
  for (const auto& [reader, gpu] : readers_) {
    const bool same_layout = reader->read(frame_);
    some_gone = some_gone || frame_.state == GpuState::gone;
    frame_.missed = static_cast<std::uint32_t>(std::min<std::uint64_t>(missed, UINT32_MAX));
    if (options_.recorder) options_.recorder->add(reader->layout(), frame_, same_layout);
    const std::lock_guard lock(mutex_);
    put_aside(*gpu, *reader, same_layout);
  }
  if (options_.recorder) options_.recorder->end_tick(machine_.clock.now());
  if (!some_gone) return;
  // A GPU that is gone is not read again.
  std::erase_if(readers_, [this](const SampledReader& one) {
    if (!one.reader->gpu().access->gone()) return false;
    const std::lock_guard lock(mutex_);
    one.gpu->bound = false;
    return true;
  });
}

// Counters continue under their names, whatever their place in the new layout is.
void Sampler::take_layout(SampledGpu& gpu, const FrameLayout& layout) {
  gpu.layout = layout;
  gpu.throttled = {};
  for (std::size_t gt = 0; gt < layout.gts.size(); ++gt)
    for (std::size_t reason = 0; reason < layout.reasons.size(); ++reason)
      gpu.throttled[gt][reason] = &gpu.throttled_seconds[layout.gts[gt] + '/' + layout.reasons[reason]];
  gpu.statistics.clear();
  for (const FrameLayout::Engine& engine : layout.engines)
    gpu.statistics.push_back(&gpu.engines[engine.gt + '/' + engine.name]);
}

void Sampler::put_aside(SampledGpu& gpu, const GpuReader& reader, bool same_layout) {
  if (!same_layout || waits_ == kMostWaiting) add_up();
  if (!same_layout) take_layout(gpu, reader.layout());
  gpu.state = frame_.state;
  const std::optional<Reading<Unit>>& outcome = reader.outcome();
  const bool still_counts = outcome && *outcome && gpu.outcome && *gpu.outcome;
  if (!still_counts) gpu.outcome = outcome;
  Waiting& waiting = waiting_[waits_++];
  waiting.gpu = &gpu;
  waiting.frame.time = frame_.time;
  waiting.frame.engine_window = frame_.engine_window;
  const auto copy = [](const auto& from, std::size_t count, auto& to) { std::copy_n(from.begin(), count, to.begin()); };
  copy(frame_.engine_busy, gpu.layout.engines.size(), waiting.frame.engine_busy);
  copy(frame_.watts, gpu.layout.domains.size(), waiting.frame.watts);
  copy(frame_.hertz, gpu.layout.gts.size(), waiting.frame.hertz);
  copy(frame_.throttled, gpu.layout.gts.size(), waiting.frame.throttled);
}

void Sampler::add_up() {
  for (std::size_t i = 0; i < waits_; ++i) {
    windows_.begin_tick(waiting_[i].frame.time);
    add(*waiting_[i].gpu, waiting_[i].frame);
  }
  waits_ = 0;
}

void Sampler::add(SampledGpu& gpu, const SampleFrame& frame) {
  for (std::size_t i = 0; i < gpu.statistics.size(); ++i) {
    const float busy = frame.engine_busy[i];
    if (!is_value(busy)) {
      gpu.statistics[i]->interrupt();
      continue;
    }
    gpu.statistics[i]->add(static_cast<double>(busy), frame.engine_window, options_.saturated);
    windows_.add(gpu.first_series + i, busy);
  }
  for (std::size_t i = 0; i < gpu.layout.domains.size(); ++i)
    if (is_value(frame.watts[i])) windows_.add(gpu.first_series + kEngines + i, frame.watts[i]);
  for (std::size_t i = 0; i < gpu.layout.gts.size(); ++i) {
    if (frame.hertz[i] > 0) windows_.add(gpu.first_series + kEngines + kDomains + i, frame.hertz[i]);
    // One sample stands for one interval; nobody knows what happened in the ticks that were missed.
    for (std::uint64_t bits = frame.throttled[i]; bits != 0; bits &= bits - 1)
      *gpu.throttled[i][static_cast<std::size_t>(std::countr_zero(bits))] += to_seconds(options_.interval).value;
  }
}

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
