// SPDX-License-Identifier: Apache-2.0
#include "kernel/clients/client_clocks.h"

#include <utility>

#include "kernel/device/drm_query.h"

namespace igpu {

void ClientClocks::query_driver(DrmNodes& nodes, const Gpu& gpu) {
  if (gpu.driver != Driver::xe) return;
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(clocks_[gpu.address].queried_in, gpu.binding) == gpu.binding) return;
  }
  // Without the lock: a driver that hangs stops only the collector that queries it.
  if (const auto hertz = xe_reference_clock(nodes, gpu.render_node))
    use(gpu.address, [&](ClockRate& rate) { rate.set_reported(*hertz); });
}

}  // namespace igpu
