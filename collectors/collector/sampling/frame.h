// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "igpu/units.h"

// What one tick of the sampler read from one GPU. A frame has the same size whatever the GPU is and holds only numbers;
// FrameLayout says what each of them is.
namespace igpu::sampling {

inline constexpr std::size_t kEngines = 64;  // more than any part has
inline constexpr std::size_t kDomains = 10;  // of an integrated GPU: five of RAPL, each by the PMU and by powercap
inline constexpr std::size_t kGts = 8;
inline constexpr std::size_t kReasons = 64;  // more than the hardware's register has bits

// A value that was not read at this tick, or that the machine does not have.
inline constexpr float kNothing = std::numeric_limits<float>::quiet_NaN();
inline bool is_value(float value) { return !std::isnan(value); }

enum class GpuState : std::uint8_t {
  sampled,   // awake and read; values that are missing nevertheless are kNothing
  sleeping,  // suspended, or about to be: nothing was read
  gone,      // removed or rebound: nothing was read, and no frame follows from this binding
};

struct SampleFrame {
  Nanoseconds time{};  // CLOCK_MONOTONIC, before the first value was read
  GpuState state = GpuState::sampled;
  std::uint32_t missed = 0;  // ticks that were due between the previous frame and this one, and were not taken
  // Means over the time since the previous frame. engine_window is that time: about one interval if no tick was missed.
  std::array<float, kEngines> engine_busy{};    // 0..1, by FrameLayout::engines
  Nanoseconds engine_window{};                  // in the PMU's own time; 0: no engine has a value
  std::array<float, kDomains> watts{};          // mean since the previous reading, of at least kPowerWindow
  std::array<float, kGts> hertz{};              // when read; 0: parked
  std::array<std::uint64_t, kGts> throttled{};  // when read; bit n: FrameLayout::reasons[n] limits the frequency
  std::uint64_t throttle_read = 0;              // bit n: throttled[n] was read

  SampleFrame() { clear(); }
  void clear() {
    engine_busy.fill(kNothing);
    watts.fill(kNothing);
    hertz.fill(kNothing);
    throttled.fill(0);
    throttle_read = 0;
    engine_window = {};
    missed = 0;
    state = GpuState::sampled;
  }
};

// Energy counters are published up to a quarter of a second late, so power over less time means little.
inline constexpr Nanoseconds kPowerWindow = std::chrono::milliseconds(250);

// The meaning of the numbers in a GPU's frames. Grows while a binding lasts (a PMU may appear later than its device, a
// throttle reason when it is first seen); an index, once given, keeps its meaning.
struct FrameLayout {
  struct Engine {
    std::string gt, name;          // "0", "vcs1"
    std::string_view class_label;  // "video"
  };
  struct Domain {
    std::string name;         // "package"
    std::string_view source;  // rapl_pmu, powercap, hwmon
  };
  std::string device;  // PCI address
  std::vector<Engine> engines;
  std::vector<Domain> domains;
  std::vector<std::string> gts;
  std::vector<std::string> reasons;  // "any" first
  std::uint64_t throttle_known = 0;  // bit n: gts[n] reports throttle reasons
};

// The last frames of one GPU. Values that its layout does not use are not stored: a frame of a card with seven engines
// takes 64 bytes. Memory is allocated at construction and when the layout grows, which ends within a minute. Not
// thread-safe.
class FrameRing {
 public:
  // Holds at least the frames of the last `length`, one in each `interval`.
  FrameRing(Nanoseconds length, Nanoseconds interval) : heads_(static_cast<std::size_t>(length / interval) + 1) {}

  void push(const FrameLayout& layout, const SampleFrame& frame) {
    if (layout.engines.size() > engines_ || layout.domains.size() > domains_ || layout.gts.size() > gts_) widen(layout);
    store_row(next_ % heads_.size(), frame);
    ++next_;
  }

  // Calls visit(const SampleFrame&) for the frames of this time, both ends included, oldest first.
  template <class Visit>
  void for_each(Nanoseconds from, Nanoseconds to, Visit&& visit) const {
    SampleFrame frame;
    for (std::size_t i = oldest(); i < next_; ++i) {
      const std::size_t row = i % heads_.size();
      if (heads_[row].time < from || heads_[row].time > to) continue;
      load_row(row, frame);
      visit(std::as_const(frame));
    }
  }

  std::size_t bytes() const {
    return heads_.size() * sizeof(Head) + values_.size() * sizeof(float) + throttled_.size() * sizeof(std::uint64_t);
  }

 private:
  static_assert(kGts <= 8);
  struct Head {
    Nanoseconds time{};
    std::uint32_t missed = 0;
    GpuState state = GpuState::sampled;
    std::uint8_t throttle_read = 0;
  };

  std::size_t width() const { return engines_ + domains_ + gts_; }
  std::size_t oldest() const { return next_ > heads_.size() ? next_ - heads_.size() : 0; }

  void store_row(std::size_t row, const SampleFrame& frame) {
    heads_[row] = {frame.time, frame.missed, frame.state, static_cast<std::uint8_t>(frame.throttle_read)};
    float* value = values_.data() + row * width();
    value = std::copy_n(frame.engine_busy.begin(), engines_, value);
    value = std::copy_n(frame.watts.begin(), domains_, value);
    std::copy_n(frame.hertz.begin(), gts_, value);
    std::copy_n(frame.throttled.begin(), gts_, throttled_.data() + row * gts_);
  }
  void load_row(std::size_t row, SampleFrame& frame) const {
    frame.clear();
    const Head& head = heads_[row];
    frame.time = head.time;
    frame.missed = head.missed;
    frame.state = head.state;
    frame.throttle_read = head.throttle_read;
    const float* const value = values_.data() + row * width();
    std::copy_n(value, engines_, frame.engine_busy.begin());
    std::copy_n(value + engines_, domains_, frame.watts.begin());
    std::copy_n(value + engines_ + domains_, gts_, frame.hertz.begin());
    std::copy_n(throttled_.data() + row * gts_, gts_, frame.throttled.begin());
  }
  void widen(const FrameLayout& layout) {
    FrameRing wide(*this);
    wide.engines_ = std::max(engines_, layout.engines.size());
    wide.domains_ = std::max(domains_, layout.domains.size());
    wide.gts_ = std::max(gts_, layout.gts.size());
    wide.values_.assign(heads_.size() * wide.width(), kNothing);
    wide.throttled_.assign(heads_.size() * wide.gts_, 0);
    SampleFrame frame;
    for (std::size_t i = oldest(); i < next_; ++i) {
      load_row(i % heads_.size(), frame);
      wide.store_row(i % heads_.size(), frame);
    }
    *this = std::move(wide);
  }

  std::size_t engines_ = 0, domains_ = 0, gts_ = 0;  // that a row has room for
  std::vector<Head> heads_;                          // by row
  std::vector<float> values_;                        // row by row: engines, domains, clocks
  std::vector<std::uint64_t> throttled_;             // row by row, by GT
  std::size_t next_ = 0;                             // frames so far
};

}  // namespace igpu::sampling
