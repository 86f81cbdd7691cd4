// SPDX-License-Identifier: Apache-2.0
#include "self/sandbox_metrics.h"

#include <string_view>

namespace igpu::exporter {
namespace {

constexpr Metric<Flag, 1> kSandbox{"intel_gpu_exporter_sandbox",
                                   Kind::gauge,
                                   "Whether this layer of the exporter's sandbox is on (docs/sandbox.md).",
                                   {"layer"}};
constexpr std::array<const MetricDescriptor*, 1> kSandboxMetrics{&kSandbox};

}  // namespace

std::span<const MetricDescriptor* const> SandboxMetrics::metrics() { return kSandboxMetrics; }

void SandboxMetrics::add_to(SampleList& out) const {
  for (const Layer layer : kLayers) {
    const std::string_view label = to_string(layer);
    out.add(kSandbox, std::span(&label, 1),
            on_[static_cast<std::size_t>(layer)].load(std::memory_order_relaxed) ? 1 : 0);
  }
}

}  // namespace igpu::exporter
