// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "igpu/reading.h"
#include "machine/interval_timer.h"
#include "sampling/sampler.h"

namespace igpu::sampling {

// Calls Sampler::tick() at every multiple of the interval, on a thread that blocks all signals. The thread has the
// rights of the one that constructs this. Throws std::system_error. A tick that throws is reported by outcome(), and
// the next one is taken as usual.
class SamplingThread {
 public:
  struct Options {
    Nanoseconds interval{};
    Nanoseconds patience = std::chrono::seconds(5);  // a tick that takes longer hangs
    std::shared_ptr<void> keep_alive{};              // of what the thread needs that may outlive this
  };

  SamplingThread(std::shared_ptr<Sampler> sampler, Options options);
  // Waits for the tick that is under way. One that hangs is left behind: its thread ends when the tick does.
  ~SamplingThread();
  SamplingThread(const SamplingThread&) = delete;
  SamplingThread& operator=(const SamplingThread&) = delete;

  // What went wrong since the last call: a tick threw, or the one that is under way hangs. Any thread.
  Reading<Unit> outcome();
  // Ticks that have become due during the one that is under way and that Sampler::missed() will count at its end.
  std::uint64_t overdue() const;

 private:
  struct State {
    State(std::shared_ptr<Sampler> the_sampler, Options the_options)
        : sampler(std::move(the_sampler)), options(std::move(the_options)), timer(options.interval) {}
    const std::shared_ptr<Sampler> sampler;
    const Options options;
    TickTimer timer;
    std::atomic<Nanoseconds> tick_began{Nanoseconds::zero()};  // by the steady clock; 0: none is under way
    std::mutex mutex;                                          // guards what follows
    std::condition_variable changed;
    bool ended = false;
    std::optional<std::string> exception;  // not reported yet
  };
  static void run(State& state);
  static void tick(State& state, std::uint64_t expirations);
  // How long the tick that is under way has taken.
  Nanoseconds under_way() const;

  const std::shared_ptr<State> state_;
  std::thread thread_;
};

}  // namespace igpu::sampling
