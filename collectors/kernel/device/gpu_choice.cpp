// SPDX-License-Identifier: Apache-2.0
#include "kernel/device/gpu_choice.h"

namespace igpu {

bool is_named(const Gpu& gpu, std::string_view name) {
  return !name.empty() && (name == gpu.address || name == gpu.card || name == gpu.render_node);
}

std::string list_of(const std::vector<Gpu>& gpus) {
  std::string text;
  for (const Gpu& gpu : gpus) {
    text += (text.empty() ? "" : ", ") + gpu.address;
    if (!gpu.card.empty()) text += " (" + gpu.card + (gpu.render_node.empty() ? "" : ", " + gpu.render_node) + ")";
  }
  return text;
}

}  // namespace igpu
