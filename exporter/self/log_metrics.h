// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "igpu/page.h"
#include "self/self_metrics.h"
#include "service/logging.h"

namespace igpu::exporter {

// Metrics about the log. Thread-safe.
class LogMetrics final : public SelfMetrics {
 public:
  explicit LogMetrics(const StderrLog& log) : log_(log) {}  // which must outlive this

  static std::span<const MetricDescriptor* const> metrics();
  void add_to(SampleList& out) const override;

 private:
  const StderrLog& log_;
};

}  // namespace igpu::exporter
