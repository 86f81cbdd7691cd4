// SPDX-License-Identifier: Apache-2.0
#include "self/log_metrics.h"

#include <array>

namespace igpu::exporter {
namespace {

constexpr Metric<Count, 0> kDropped{"intel_gpu_exporter_log_lines_dropped_total", Kind::counter,
                                    "Log lines dropped because standard error was blocked or closed."};
constexpr std::array<const MetricDescriptor*, 1> kLogMetrics{&kDropped};

}  // namespace

std::span<const MetricDescriptor* const> LogMetrics::metrics() { return kLogMetrics; }

void LogMetrics::add_to(SampleList& out) const { out.add(kDropped, {}, static_cast<double>(log_.dropped())); }

}  // namespace igpu::exporter
