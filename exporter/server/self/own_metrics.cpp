// SPDX-License-Identifier: Apache-2.0
#include "server/self/own_metrics.h"

#include <optional>
#include <string>
#include <string_view>

namespace igpu::exporter {
namespace {

constexpr Metric<Seconds, 0> kCpu{"process_cpu_seconds_total", Kind::counter,
                                  "User and system CPU time used by the exporter."};
constexpr Metric<Count, 0> kOpenFds{"process_open_fds", Kind::gauge, "Open file descriptors of the exporter."};
constexpr Metric<Count, 0> kMaxFds{"process_max_fds", Kind::gauge,
                                   "Maximum number of open file descriptors of the exporter."};
constexpr Metric<Bytes, 0> kVirtual{"process_virtual_memory_bytes", Kind::gauge, "Virtual memory of the exporter."};
constexpr Metric<Bytes, 0> kVirtualMax{"process_virtual_memory_max_bytes", Kind::gauge,
                                       "Maximum virtual memory of the exporter."};
constexpr Metric<Bytes, 0> kResident{"process_resident_memory_bytes", Kind::gauge, "Resident memory of the exporter."};
constexpr Metric<Seconds, 0> kStartTime{"process_start_time_seconds", Kind::gauge,
                                        "Start time of the exporter, in seconds since the epoch."};
constexpr Metric<Count, 0> kThreads{"process_threads", Kind::gauge, "Threads of the exporter."};

constexpr std::array<const MetricDescriptor*, 8> kProcessMetrics{&kCpu,        &kOpenFds,  &kMaxFds,    &kVirtual,
                                                                 &kVirtualMax, &kResident, &kStartTime, &kThreads};

template <class Q>
void add(SampleList& out, const Metric<Q, 0>& metric, std::optional<double> value) {
  if (value) out.add(metric, {}, *value);
}

constexpr Metric<Count, 1> kRequests{
    "intel_gpu_exporter_http_requests_total", Kind::counter, "HTTP requests answered, by status code.", {"code"}};

constexpr Metric<Count, 0> kDropped{"intel_gpu_exporter_log_lines_dropped_total", Kind::counter,
                                    "Log lines dropped because standard error was blocked or closed."};

constexpr Metric<Flag, 1> kSandbox{"intel_gpu_exporter_sandbox",
                                   Kind::gauge,
                                   "Whether this layer of the exporter's sandbox is on (docs/sandbox.md).",
                                   {"layer"}};
constexpr std::array<const MetricDescriptor*, 3> kOwnMetrics{&kSandbox, &kDropped, &kRequests};

constexpr Metric<Count, 1> kPushSamples{
    "intel_gpu_exporter_push_samples_total", Kind::counter, "Samples delivered to this target.", {"target"}};
constexpr Metric<Count, 1> kPushFailures{
    "intel_gpu_exporter_push_failures_total",
    Kind::counter,
    "Attempts to deliver a reading to this target that failed; the log has the reason.",
    {"target"}};
constexpr Metric<Count, 1> kPushDropped{
    "intel_gpu_exporter_push_dropped_total",
    Kind::counter,
    "Samples lost: the target refused them, or its queue was full of newer readings.",
    {"target"}};
constexpr Metric<Count, 1> kPushQueueLength{
    "intel_gpu_exporter_push_queue_length", Kind::gauge, "Readings not yet delivered to this target.", {"target"}};
constexpr std::array<const MetricDescriptor*, 4> kPushMetrics{&kPushSamples, &kPushFailures, &kPushDropped,
                                                              &kPushQueueLength};

}  // namespace

std::span<const MetricDescriptor* const> process_metrics() { return kProcessMetrics; }

void ProcessMetrics::add_to(SampleList& out) const {
  const ProcessUsage now = usage_.read();
  add(out, kCpu, now.cpu_seconds);
  add(out, kOpenFds, now.open_files);
  add(out, kMaxFds, now.most_open_files);
  add(out, kVirtual, now.virtual_bytes);
  add(out, kVirtualMax, now.most_virtual_bytes);
  add(out, kResident, now.resident_bytes);
  add(out, kStartTime, usage_.started());
  add(out, kThreads, now.threads);
}

std::span<const MetricDescriptor* const> own_metrics() { return kOwnMetrics; }

void RequestMetrics::count(int status) {
  const auto code = static_cast<std::size_t>(status);
  if (status >= 0 && code < kCodes) counts_[code].fetch_add(1, std::memory_order_relaxed);
}

void RequestMetrics::add_to(SampleList& out) const {
  for (std::size_t code = 0; code < kCodes; ++code) {
    const std::uint64_t count = counts_[code].load(std::memory_order_relaxed);
    // The usual codes are exported from the start, so that rate() counts the first response, too.
    if (count == 0 && code != 200 && code != 500 && code != 503) continue;
    const std::string text = std::to_string(code);
    const std::string_view label = text;
    out.add(kRequests, std::span(&label, 1), static_cast<double>(count));
  }
}

void add_log_metrics(const StderrLog& log, SampleList& out) {
  out.add(kDropped, {}, static_cast<double>(log.dropped()));
}

void add_sandbox_metrics(const SandboxOutcomes& outcomes, SampleList& out) {
  for (const Layer layer : kLayers) {
    const std::string_view label = to_string(layer);
    out.add(kSandbox, std::span(&label, 1), outcomes[static_cast<std::size_t>(layer)].on ? 1 : 0);
  }
}

std::span<const MetricDescriptor* const> PushMetrics::metrics() { return kPushMetrics; }

void PushMetrics::add_to(SampleList& out) const {
  for (const PushCounters& of : targets_) {
    const std::array<std::string_view, 1> labels{of.target};
    out.add(kPushSamples, labels, static_cast<double>(of.samples.load()));
    out.add(kPushFailures, labels, static_cast<double>(of.failures.load()));
    out.add(kPushDropped, labels, static_cast<double>(of.dropped.load()));
    out.add(kPushQueueLength, labels, static_cast<double>(of.queue_length.load()));
  }
}

}  // namespace igpu::exporter
