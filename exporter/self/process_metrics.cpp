// SPDX-License-Identifier: Apache-2.0
#include "self/process_metrics.h"

#include <array>
#include <optional>

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

}  // namespace igpu::exporter
