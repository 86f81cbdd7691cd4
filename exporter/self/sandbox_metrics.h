// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <span>

#include "igpu/page.h"
#include "sandbox/layer.h"
#include "self/self_metrics.h"

namespace igpu::exporter {

// Which layers of the sandbox are on. Thread-safe.
class SandboxMetrics final : public SelfMetrics {
 public:
  static std::span<const MetricDescriptor* const> metrics();

  void set(Layer layer, bool on) { on_[static_cast<std::size_t>(layer)] = on; }
  void add_to(SampleList& out) const override;

 private:
  std::array<std::atomic<bool>, kLayers.size()> on_{};
};

}  // namespace igpu::exporter
