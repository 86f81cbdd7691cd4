// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace igpu::exporter {

// The only ioctls of a render node that the filter allows: both are queries and submit no work to the GPU. The numbers
// are written again here, so that a new query in the library (device/drm_uapi.h) does not widen the filter unnoticed; a
// test compares them.
inline constexpr unsigned long kI915Query = 0xc0106479;
inline constexpr unsigned long kXeDeviceQuery = 0xc0286440;

}  // namespace igpu::exporter
