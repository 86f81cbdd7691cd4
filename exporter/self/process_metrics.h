// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "igpu/page.h"
#include "platform/process_usage.h"
#include "self/self_metrics.h"

namespace igpu::exporter {

std::span<const MetricDescriptor* const> process_metrics();

// The standard process_* metrics of every Prometheus client library, for this process.
// Values that cannot be read are omitted.
class ProcessMetrics final : public SelfMetrics {
 public:
  void add_to(SampleList& out) const override;

 private:
  UsageReader usage_;
};

}  // namespace igpu::exporter
