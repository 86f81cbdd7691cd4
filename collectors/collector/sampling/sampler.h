// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "collector/sampling/engine_statistics.h"
#include "collector/sampling/frame.h"
#include "collector/sampling/gpu_reader.h"
#include "igpu/reading.h"
#include "machine/interval_timer.h"

namespace igpu::sampling {

class FlightRecorder;

struct SamplerOptions {
  Nanoseconds interval = std::chrono::milliseconds(100);
  double saturated = 0.95;                             // an engine that is at least so busy is saturated
  std::shared_ptr<FlightRecorder> recorder = nullptr;  // gets every frame; null: none
};

// Reads all GPUs at each tick and adds the values up. One thread calls tick(); any thread calls the other functions,
// none of which waits for a reading, because the lock is not held while the machine is read. A tick only stores its
// frames; they are added up several at a time, or when another function needs the sums. At ten ticks a second the
// caches are cold at every tick, so this is far cheaper.
class Sampler {
 public:
  // machine must outlive it.
  Sampler(Machine& machine, const SamplerOptions& options) : machine_(machine), options_(options) {}

  // The GPUs to sample from the next tick on. GPUs that are sampled already are not interrupted.
  void follow(const std::vector<AccessibleGpu>& gpus);

  // expirations: as TickTimer::wait(). Missed ticks are counted, not repeated.
  void tick(std::uint64_t expirations);

  std::uint64_t missed() const { return missed_; }

  // Seconds, by FrameLayout::gts and reasons; null: the layout has no such GT or reason.
  using Throttled = std::array<std::array<double*, kReasons>, kGts>;

  // Sums over the samples of one GPU since this process started; a rebind does not reset them.
  struct GpuView {
    const FrameLayout& layout;
    GpuState state;                                       // at the last tick
    const std::optional<Reading<Unit>>& engines_outcome;  // GpuReader::outcome()
    const std::vector<EngineStatistics*>& engines;        // by FrameLayout::engines
    const Throttled& throttled;
  };
  // Calls visit(GpuView) for each GPU that is bound. visit must not call this sampler.
  template <class Visit>
  void for_each_gpu(Visit&& visit) {
    const std::lock_guard lock(mutex_);
    add_up();
    for (const auto& [device, gpu] : gpus_)
      if (gpu.bound) visit(GpuView{gpu.layout, gpu.state, gpu.outcome, gpu.statistics, gpu.throttled});
  }

  // Extremes of one GPU's values in a client's window.
  struct WindowView {
    const FrameLayout& layout;
    std::span<const Extremes> engines;  // busy, 0..1; by FrameLayout::engines
    std::span<const Extremes> domains;  // watts
    std::span<const Extremes> gts;      // hertz, while not parked
  };
  // Ends the window of this client, begins its next one, and calls visit(WindowView) for each GPU that is bound.
  template <class Visit>
  void take_window(std::string_view client, Visit&& visit) {
    const std::lock_guard lock(mutex_);
    add_up();
    const std::span<const Extremes> values = windows_.take_window(client, machine_.clock.now());
    for (const auto& [device, gpu] : gpus_) {
      if (!gpu.bound) continue;
      const auto mine = values.subspan(gpu.first_series, kSeries);
      visit(WindowView{gpu.layout, mine.subspan(0, gpu.layout.engines.size()),
                       mine.subspan(kEngines, gpu.layout.domains.size()),
                       mine.subspan(kEngines + kDomains, gpu.layout.gts.size())});
    }
  }

 private:
  static constexpr std::size_t kSeries = kEngines + kDomains + kGts;

  // The state of the GPU at one PCI address; kept when the GPU disappears.
  struct SampledGpu {
    bool bound = false;
    std::size_t first_series = 0;
    FrameLayout layout;  // a copy, for other threads
    GpuState state = GpuState::sampled;
    std::optional<Reading<Unit>> outcome;
    std::map<std::string, EngineStatistics, std::less<>> engines;  // by GT and name
    std::vector<EngineStatistics*> statistics;                     // by FrameLayout::engines
    std::map<std::string, double, std::less<>> throttled_seconds;  // by GT and reason
    Throttled throttled{};                                         // by FrameLayout::gts and reasons
  };

  struct SampledReader {
    std::unique_ptr<GpuReader> reader;
    SampledGpu* gpu;
  };
  // A frame that is not added up yet; only the places that the layout uses have values.
  struct Waiting {
    SampledGpu* gpu = nullptr;
    SampleFrame frame;
  };
  static constexpr std::size_t kMostWaiting = 8;

  void adopt_gpus();
  // The caller holds the lock.
  void put_aside(SampledGpu& gpu, const GpuReader& reader, bool same_layout);
  void add_up();
  void add(SampledGpu& gpu, const SampleFrame& frame);
  void take_layout(SampledGpu& gpu, const FrameLayout& layout);

  Machine& machine_;
  const SamplerOptions options_;
  std::atomic<std::uint64_t> missed_{0};

  // Of the thread that ticks.
  std::vector<SampledReader> readers_;
  SampleFrame frame_;

  std::atomic<bool> has_followed_{false};                // whether followed_ is set; read without the lock
  mutable std::mutex mutex_;                             // guards what follows
  std::optional<std::vector<AccessibleGpu>> followed_;   // not adopted yet
  std::map<std::string, SampledGpu, std::less<>> gpus_;  // by PCI address
  ClientWindows windows_;
  std::array<Waiting, kMostWaiting> waiting_;
  std::size_t waits_ = 0;  // frames in waiting_
};

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
