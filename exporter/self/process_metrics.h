// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>

#include "igpu/page.h"
#include "self/self_metrics.h"
#include "service/descriptor.h"

namespace igpu::exporter {

std::span<const MetricDescriptor* const> process_metrics();

// The standard process_* set for the exporter's own process: what every Prometheus client library gives.
// Sources: once /proc/self/stat and /proc/stat; for each page /proc/self/statm, the facts of /proc/self/fd and
// /proc/self/task, getrlimit, getrusage; not /proc/self/stat again, for which the kernel goes through all threads.
// What cannot be read is left out.
class ProcessMetrics final : public SelfMetrics {
 public:
  ProcessMetrics();
  void add_to(SampleList& out) const override;

 private:
  std::optional<double> started_;  // seconds since the epoch: a step of the clock does not move it
  Descriptor memory_;              // /proc/self/statm
};

}  // namespace igpu::exporter
