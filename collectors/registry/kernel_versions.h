// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "igpu/device.h"
#include "igpu/reading.h"

namespace igpu {

// Since when a driver offers a feature, in words: what the reason `kernel` is explained with. Features themselves are
// detected, never derived from a version: distributions carry drivers back. Where the first release is not known
// exactly, the range of releases that holds it.
struct DriverOffer {
  std::string_view cause;
  std::string_view hint;  // "": no version has it
};

// nullptr: nothing is known of the feature on this driver and kind of GPU.
const DriverOffer* driver_offer(std::string_view feature, const Absent& absent, const Gpu& gpu);

}  // namespace igpu
