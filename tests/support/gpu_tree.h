// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "igpu/monitor.h"
#include "support/machine_tree.h"

namespace igpu::test {

struct GpuSpec {
  std::string pci_path;  // below sys/devices: "pci0000:00/0000:00:02.0"
  std::string driver;
  std::string card;
  std::string render_node;
  std::string device = "0x9a49";
};

// Writes what the kernel shows of a GPU that is bound: PCI directory, driver link, DRM nodes with their links.
void add_gpu(MachineTree& tree, const GpuSpec& gpu);
// What is left after unbinding: the PCI directory without driver and DRM nodes.
void remove_gpu(MachineTree& tree, const std::string& pci_path);

using Labels = std::initializer_list<std::pair<std::string_view, std::string_view>>;
// The value of the one sample with exactly these labels (labels with empty value do not count).
std::optional<double> value_of(const ScrapeResult& page, std::string_view metric, Labels labels = {});

}  // namespace igpu::test
