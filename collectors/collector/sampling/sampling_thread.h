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

#include "collector/sampling/sampler.h"
#include "igpu/reading.h"
#include "machine/interval_timer.h"

namespace igpu::sampling {

// Calls Sampler::tick() at every multiple of the interval, on a thread that blocks all signals. The thread inherits its
// rights from the thread that constructs the object. Throws std::system_error. An exception in a tick is reported by
// outcome() and does not stop the following ticks.
class SamplingThread {
 public:
  struct Options {
    Nanoseconds interval{};
    Nanoseconds longest_tick = std::chrono::seconds(5);  // a tick that takes longer is reported as hanging
    std::shared_ptr<void> keep_alive{};  // what the thread needs; a hanging thread may outlive this object
  };

  SamplingThread(std::shared_ptr<Sampler> sampler, Options options);
  // Waits for the current tick. A tick that hangs is left behind: its thread ends when the tick does.
  ~SamplingThread();
  SamplingThread(const SamplingThread&) = delete;
  SamplingThread& operator=(const SamplingThread&) = delete;

  // A Failure if a tick has thrown since the last call, or if the current tick hangs. Any thread.
  Reading<Unit> outcome();
  // Ticks that have become due during the current one. Sampler::missed() counts them when it ends.
  std::uint64_t overdue() const;

 private:
  struct State {
    State(std::shared_ptr<Sampler> the_sampler, Options the_options)
        : sampler(std::move(the_sampler)), options(std::move(the_options)), timer(options.interval) {}
    const std::shared_ptr<Sampler> sampler;
    const Options options;
    TickTimer timer;
    std::atomic<Nanoseconds> tick_began{Nanoseconds::zero()};  // by the steady clock; 0: between ticks
    std::mutex mutex;                                          // guards what follows
    std::condition_variable changed;
    bool ended = false;
    std::optional<std::string> exception;  // not reported yet
  };
  static void run(State& state);
  static void tick(State& state, std::uint64_t expirations);
  // How long the current tick has taken.
  Nanoseconds under_way() const;

  const std::shared_ptr<State> state_;
  std::thread thread_;
};

}  // namespace igpu::sampling
