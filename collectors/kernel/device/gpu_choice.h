// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "igpu/device.h"

// How people choose a GPU.
namespace igpu {

// Whether `name` is the GPU's PCI address, card or render node.
bool is_named(const Gpu& gpu, std::string_view name);
// "0000:00:02.0 (card0, renderD128), 0000:03:00.0 (card1, renderD129)".
std::string list_of(const std::vector<Gpu>& gpus);

}  // namespace igpu
