// SPDX-License-Identifier: Apache-2.0
#include "server/push/push_metrics.h"

#include <array>

namespace igpu::exporter {
namespace {

constexpr Metric<Count, 1> kSamples{
    "intel_gpu_exporter_push_samples_total", Kind::counter, "Samples delivered to this target.", {"target"}};
constexpr Metric<Count, 1> kFailures{
    "intel_gpu_exporter_push_failures_total",
    Kind::counter,
    "Attempts to deliver a reading to this target that failed; the log has the reason.",
    {"target"}};
constexpr Metric<Count, 1> kDropped{"intel_gpu_exporter_push_dropped_total",
                                    Kind::counter,
                                    "Samples lost: the target refused them, or its queue was full of newer readings.",
                                    {"target"}};
constexpr Metric<Count, 1> kQueueLength{
    "intel_gpu_exporter_push_queue_length", Kind::gauge, "Readings not yet delivered to this target.", {"target"}};
constexpr std::array<const MetricDescriptor*, 4> kMetrics{&kSamples, &kFailures, &kDropped, &kQueueLength};

}  // namespace

std::span<const MetricDescriptor* const> PushMetrics::metrics() { return kMetrics; }

void PushMetrics::add_to(SampleList& out) const {
  for (const PushCounters& of : targets_) {
    const std::array<std::string_view, 1> labels{of.target};
    out.add(kSamples, labels, static_cast<double>(of.samples.load()));
    out.add(kFailures, labels, static_cast<double>(of.failures.load()));
    out.add(kDropped, labels, static_cast<double>(of.dropped.load()));
    out.add(kQueueLength, labels, static_cast<double>(of.queue_length.load()));
  }
}

}  // namespace igpu::exporter
