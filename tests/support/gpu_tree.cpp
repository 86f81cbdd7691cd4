// SPDX-License-Identifier: Apache-2.0
#include "support/gpu_tree.h"

#include <algorithm>
#include <string>

namespace igpu::test {
namespace {

std::string up(std::size_t levels) {
  std::string text;
  while (levels-- > 0) text += "../";
  return text;
}

}  // namespace

void add_gpu(MachineTree& tree, const GpuSpec& gpu) {
  const std::string pci = "sys/devices/" + gpu.pci_path;
  const auto depth = static_cast<std::size_t>(std::count(gpu.pci_path.begin(), gpu.pci_path.end(), '/'));
  tree.write(pci + "/vendor", "0x8086\n");
  tree.write(pci + "/device", gpu.device + "\n");
  tree.write(pci + "/revision", "0x01\n");
  tree.write(pci + "/numa_node", "-1\n");
  tree.link(pci + "/driver", up(depth + 2) + "bus/pci/drivers/" + gpu.driver);
  for (const std::string& node : {gpu.card, gpu.render_node}) {
    if (node.empty()) continue;
    tree.write(pci + "/drm/" + node + "/dev", "226:0\n");
    tree.link(pci + "/drm/" + node + "/device", "../..");
    tree.link("sys/class/drm/" + node, "../../devices/" + gpu.pci_path + "/drm/" + node);
  }
}

void remove_gpu(MachineTree& tree, const std::string& pci_path) {
  const std::string pci = "sys/devices/" + pci_path;
  tree.remove(pci + "/driver");
  for (int i = 0; i < 4; ++i) {
    for (const std::string& node : {"card" + std::to_string(i), "renderD" + std::to_string(128 + i)}) {
      if (!tree.exists(pci + "/drm/" + node)) continue;
      tree.remove("sys/class/drm/" + node);
    }
  }
  tree.remove(pci + "/drm");
}

std::optional<double> value_of(const ScrapeResult& page, std::string_view metric, Labels labels) {
  for (const SampleList* list : page.lists()) {
    for (const SampleList::Sample& sample : list->samples()) {
      if (sample.metric->name != metric) continue;
      std::size_t present = 0;
      bool same = true;
      for (std::size_t i = 0; i < sample.metric->label_count; ++i) {
        const std::string_view value = list->label_value(sample, i);
        if (value.empty()) continue;
        ++present;
        same = same && std::any_of(labels.begin(), labels.end(), [&](const auto& label) {
                 return label.first == sample.metric->label_names[i] && label.second == value;
               });
      }
      if (same && present == labels.size()) return sample.value;
    }
  }
  return std::nullopt;
}

}  // namespace igpu::test
