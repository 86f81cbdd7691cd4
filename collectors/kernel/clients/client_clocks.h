// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "igpu/device.h"
#include "igpu/units.h"
#include "kernel/device/drm_query.h"
#include "machine/drm_node.h"

namespace igpu {

// The rate of a GPU's timestamp counter, learned by reading it together with the system's clock.
//
// It converts cycles to seconds. No file of xe reports it; the render node does, to a process that may open it. The
// hardware has a small set of rates (crystals of 19.2, 24, 25 and 38.4 MHz, halved up to three times) that are at least
// 4 % apart: one measurement over a fifth of a second picks the right one, and from then on the conversion is exact.
// Any other rate is accepted when two measurements in a row agree. Before the first measurement no rate is known, and
// no cycles are converted.
class ClockRate {
 public:
  // count: the counter's value at `time`. A step back (a reset) and pause() restart the measurement; a known rate stays
  // known.
  void observe(Nanoseconds time, std::uint64_t count) {
    if (!anchor_ || time < anchor_->time || count <= anchor_->count) {
      anchor_ = Anchor{time, count};
      return;
    }
    const Nanoseconds elapsed = time - anchor_->time;
    if (elapsed < kShortest) return;
    const double measured = static_cast<double>(count - anchor_->count) / to_seconds(elapsed).value;
    if (hertz_ && near(measured, *hertz_)) {
      doubts_ = 0;
      return;  // the anchor stays: a longer measurement is more accurate
    }
    anchor_ = Anchor{time, count};
    if (hertz_ && ++doubts_ < kDoubts) return;
    const std::optional<double> rate = believable(measured);
    candidate_ = measured;
    if (!rate) return;
    hertz_ = rate;
    doubts_ = 0;
  }

  // A rate reported by the driver; measurements that disagree repeatedly override it.
  void set_reported(double hertz) {
    if (!hertz_ && hertz > 0) hertz_ = hertz;
  }

  // The counter may stand still from now on, because the GPU sleeps.
  void pause() { anchor_.reset(); }

  std::optional<double> hertz() const { return hertz_; }

 private:
  struct Anchor {
    Nanoseconds time;
    std::uint64_t count;
  };
  static constexpr Nanoseconds kShortest = std::chrono::milliseconds(200);
  static constexpr double kTolerance = 0.019;
  static constexpr int kDoubts = 3;  // measurements in a row that contradict the known rate

  static bool near(double measured, double rate) {
    const double error = measured / rate - 1;
    return error < kTolerance && error > -kTolerance;
  }
  std::optional<double> believable(double measured) const {
    constexpr std::array kCrystals{19.2e6, 24e6, 25e6, 38.4e6};
    constexpr std::array kShifts{1.0, 0.5, 0.25, 0.125};
    for (const double crystal : kCrystals)
      for (const double shift : kShifts)
        if (near(measured, crystal * shift)) return crystal * shift;
    if (candidate_ && near(measured, *candidate_)) return measured;
    return std::nullopt;
  }

  std::optional<Anchor> anchor_;
  std::optional<double> hertz_;
  std::optional<double> candidate_;
  int doubts_ = 0;
};

// The rates of the clocks by which the clients of each xe GPU count cycles, by PCI address. They are learned from
// scans, or queried from the driver by a collector that may open the render node. All functions may be called on any
// thread.
class ClientClocks {
 public:
  // nullopt while the rate is not known.
  std::optional<double> hertz(std::string_view device) const {
    const std::lock_guard lock(mutex_);
    const auto clock = clocks_.find(device);
    return clock == clocks_.end() ? std::nullopt : clock->second.rate.hertz();
  }
  // Queries the driver, once for each binding of the GPU: at the first call of any collector. The GPU must be awake.
  void query_driver(DrmNodes& nodes, const Gpu& gpu) {
    if (gpu.driver != Driver::xe) return;
    {
      const std::lock_guard lock(mutex_);
      if (std::exchange(clocks_[gpu.address].queried_in, gpu.binding) == gpu.binding) return;
    }
    // Without the lock: a driver that hangs stops only the collector that queries it.
    if (const auto hertz = xe_reference_clock(nodes, gpu.render_node))
      use(gpu.address, [&](ClockRate& rate) { rate.set_reported(*hertz); });
  }
  // Calls `function` with the ClockRate of the GPU.
  template <class F>
  void use(std::string_view device, F&& function) {
    const std::lock_guard lock(mutex_);
    function(clocks_.try_emplace(std::string(device)).first->second.rate);
  }

 private:
  struct Clock {
    ClockRate rate;
    std::optional<std::uint64_t> queried_in;  // Gpu::binding
  };
  mutable std::mutex mutex_;
  std::map<std::string, Clock, std::less<>> clocks_;
};

}  // namespace igpu
