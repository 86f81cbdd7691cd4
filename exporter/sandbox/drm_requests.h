// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace igpu::exporter {

// The only ioctls of a render node that pass the filter: both ask, and give the GPU nothing to do. The numbers are
// those of collectors/source/drm_query.cpp, which a test holds together.
inline constexpr unsigned long kI915Query = 0xc0106479;
inline constexpr unsigned long kXeDeviceQuery = 0xc0286440;

}  // namespace igpu::exporter
