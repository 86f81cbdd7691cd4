// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>

#include "igpu/page.h"
#include "igpu/unique_fd.h"
#include "self/self_metrics.h"

namespace igpu::exporter {

std::span<const MetricDescriptor* const> process_metrics();

// The standard process_* metrics of every Prometheus client library, for this process.
// Sources: once /proc/self/stat and /proc/stat; for each page /proc/self/statm, stat(2) of /proc/self/fd and
// /proc/self/task, getrlimit, getrusage. Not /proc/self/stat for each page, as the kernel then visits all threads.
// Values that cannot be read are omitted.
class ProcessMetrics final : public SelfMetrics {
 public:
  ProcessMetrics();
  void add_to(SampleList& out) const override;

 private:
  std::optional<double> started_;  // seconds since the epoch; computed once, so that a clock step does not change it
  UniqueFd memory_;                // /proc/self/statm
};

}  // namespace igpu::exporter
