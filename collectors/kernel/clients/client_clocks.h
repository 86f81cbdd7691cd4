// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "igpu/device.h"
#include "kernel/sysfs/clock_rate.h"
#include "machine/drm_node.h"

namespace igpu {

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
  void query_driver(DrmNodes& nodes, const Gpu& gpu);
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
