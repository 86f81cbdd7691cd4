// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "igpu/displays.h"
#include "machine/filesystem.h"

namespace igpu {

std::vector<DisplayDevice> display_devices(const Directory& sys);

}  // namespace igpu
