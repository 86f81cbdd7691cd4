// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace igpu::exporter {

// The only ioctls of a render node that the filter allows: none submits work to the GPU. The first three are queries;
// the last waits for the caller's own work, of which there is none, and so tells whether the GPU is wedged. The numbers
// are written again here, so that a new query in the library (kernel/device/drm_uapi.h) does not widen the filter
// unnoticed; a test compares them.
inline constexpr unsigned long kI915Query = 0xc0106479;
inline constexpr unsigned long kI915Getparam = 0xc0106446;
inline constexpr unsigned long kXeDeviceQuery = 0xc0286440;
inline constexpr unsigned long kI915Throttle = 0x6458;

}  // namespace igpu::exporter
