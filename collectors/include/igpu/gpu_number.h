// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <cstddef>

#include "igpu/device.h"

namespace igpu {

// The number of a GPU in every view: 1 of card1. position: its place among the GPUs, which counts if it has no card.
inline std::size_t number_of(const Gpu& gpu, std::size_t position) {
  constexpr std::size_t kDigits = 4;  // after "card"
  if (gpu.card.size() > kDigits)
    (void)std::from_chars(gpu.card.data() + kDigits, gpu.card.data() + gpu.card.size(), position);
  return position;
}

}  // namespace igpu
