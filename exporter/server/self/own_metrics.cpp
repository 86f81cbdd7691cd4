// SPDX-License-Identifier: Apache-2.0
#include "server/self/own_metrics.h"

#include <string_view>

namespace igpu::exporter {
namespace {

constexpr Metric<Flag, 3> kBuildInfo{"intel_gpu_exporter_build_info",
                                     Kind::info,
                                     "The exporter's version, the revision of its sources and its compiler.",
                                     {"version", "revision", "compiler"}};

constexpr Metric<Seconds, 0> kCpuSeconds{"process_cpu_seconds_total", Kind::counter,
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

constexpr Metric<Flag, 0> kWebConfig{
    "intel_gpu_exporter_web_config_last_reload_successful", Kind::gauge,
    "Whether the latest state of --web.config.file and the files it names is in use; 0 means that an earlier one is."};

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

constexpr Metric<Count, 1> kFlights{"intel_gpu_exporter_flights_total",
                                    Kind::counter,
                                    "Flights that were recorded, by what caused them (docs/between-scrapes.md).",
                                    {"cause"}};
constexpr Metric<Count, 0> kFlightFailures{"intel_gpu_exporter_flight_write_failures_total", Kind::counter,
                                           "Flights that could not be written into --flight.directory; the log has "
                                           "the reason."};

// As METRICS.md lists them.
constexpr std::array kOwnMetrics = std::to_array<const MetricDescriptor*>(
    {&kBuildInfo, &kSandbox, &kDropped, &kRequests, &kWebConfig, &kPushSamples, &kPushFailures, &kPushDropped,
     &kPushQueueLength, &kFlights, &kFlightFailures, &kCpuSeconds, &kOpenFds, &kMaxFds, &kVirtual, &kVirtualMax,
     &kResident, &kStartTime, &kThreads});

}  // namespace

std::span<const MetricDescriptor* const> own_metrics() { return kOwnMetrics; }

void add_build_info(SampleList& out) {
  const BuildInfo build = build_info();
  const std::array<std::string_view, 3> labels{build.version, build.revision, build.compiler};
  out.add(kBuildInfo, labels, 1);
}

void ProcessMetrics::add_to(SampleList& out) const {
  const ProcessUsage now = usage_.read();
  add(out, kCpuSeconds, now.cpu_seconds);
  add(out, kOpenFds, now.open_files);
  add(out, kMaxFds, now.most_open_files);
  add(out, kVirtual, now.virtual_bytes);
  add(out, kVirtualMax, now.most_virtual_bytes);
  add(out, kResident, now.resident_bytes);
  add(out, kStartTime, usage_.started());
  add(out, kThreads, now.threads);
}

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

void add_web_config_metric(bool successful, SampleList& out) { out.add(kWebConfig, {}, successful ? 1 : 0); }

void add_flight_metrics(const Flights& flights, std::optional<std::uint64_t> write_failures, SampleList& out) {
  const auto counts = flights.counts();
  for (std::size_t cause = 0; cause < counts.size(); ++cause)
    out.add(kFlights, std::span(&kFlightCauseNames[cause], 1), static_cast<double>(counts[cause]));
  if (write_failures) out.add(kFlightFailures, {}, static_cast<double>(*write_failures));
}

void add_push_metrics(const PushMetrics& targets, SampleList& out) {
  for (const PushCounters& of : targets) {
    const std::array<std::string_view, 1> labels{of.target};
    out.add(kPushSamples, labels, static_cast<double>(of.samples.load()));
    out.add(kPushFailures, labels, static_cast<double>(of.failures.load()));
    out.add(kPushDropped, labels, static_cast<double>(of.dropped.load()));
    out.add(kPushQueueLength, labels, static_cast<double>(of.queue_length.load()));
  }
}

}  // namespace igpu::exporter
