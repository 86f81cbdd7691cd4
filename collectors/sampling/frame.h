// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "igpu/units.h"

// What one tick of the sampler read from one GPU. A frame has the same size whatever the GPU is and holds only numbers;
// FrameLayout says what each of them is.
namespace igpu::sampling {

inline constexpr std::size_t kEngines = 64;  // more than any part has
inline constexpr std::size_t kDomains = 8;
inline constexpr std::size_t kGts = 8;
inline constexpr std::size_t kReasons = 64;  // more than the hardware's register has bits

// Not read at this tick, or the machine does not have it.
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
  // Of the time since the previous frame, which `engine_window` is; without missed ticks about one interval.
  std::array<float, kEngines> engine_busy{};    // 0..1, by FrameLayout::engines
  Nanoseconds engine_window{};                  // in the PMU's own time; 0: no engine has a value
  std::array<float, kDomains> watts{};          // mean since the previous reading, of at least kPowerWindow
  std::array<float, kGts> hertz{};              // at this moment; 0: parked
  std::array<std::uint64_t, kGts> throttled{};  // at this moment; bit n: FrameLayout::reasons[n] limits the frequency
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

// What the numbers of a GPU's frames are. Grows while a binding lasts (a PMU may appear later than its device, a
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

// The last frames of one GPU. The memory is allocated at construction and does not grow. Not thread-safe: its owner
// guards it.
class FrameRing {
 public:
  // Holds at least the frames of `length` at one every `interval`.
  FrameRing(Nanoseconds length, Nanoseconds interval)
      : frames_(static_cast<std::size_t>(length / interval) + 1), length_(length) {}

  void push(const SampleFrame& frame) {
    frames_[next_ % frames_.size()] = frame;
    ++next_;
  }

  // Calls visit(frame) for every frame that is not older than `length` before the last one, oldest first. To read the
  // last ten seconds of a GPU: for_last(10s, [](const SampleFrame& frame) { ... }).
  template <class Visit>
  void for_last(Nanoseconds length, Visit&& visit) const {
    if (next_ == 0) return;
    const Nanoseconds begin = frames_[(next_ - 1) % frames_.size()].time - length;
    const std::size_t oldest = next_ > frames_.size() ? next_ - frames_.size() : 0;
    for (std::size_t i = oldest; i < next_; ++i) {
      const SampleFrame& frame = frames_[i % frames_.size()];
      if (frame.time >= begin) visit(frame);
    }
  }

  std::size_t bytes() const { return frames_.size() * sizeof(SampleFrame); }
  Nanoseconds length() const { return length_; }

 private:
  std::vector<SampleFrame> frames_;
  Nanoseconds length_;
  std::size_t next_ = 0;  // frames so far
};

}  // namespace igpu::sampling
