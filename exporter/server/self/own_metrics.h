// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "igpu/flight.h"
#include "igpu/page.h"
#include "platform/own_process.h"
#include "platform/sandbox_layers.h"
#include "server/service/logging.h"

namespace igpu::exporter {

// Adds metrics of a part of the program to the page; any thread calls it.
using AddMetrics = std::function<void(SampleList& out)>;

std::span<const MetricDescriptor* const> own_metrics();  // of all below

void add_build_info(SampleList& out);

// The standard process_* metrics of every Prometheus client library, for this process.
// Values that cannot be read are omitted.
class ProcessMetrics {
 public:
  void add_to(SampleList& out) const;

 private:
  UsageReader usage_;
};

// Which layers of the sandbox are on.
void add_sandbox_metrics(const SandboxOutcomes& outcomes, SampleList& out);
void add_log_metrics(const StderrLog& log, SampleList& out);
// Whether the latest state of --web.config.file is in use.
void add_web_config_metric(bool successful, SampleList& out);
// How many flights there were, by cause. write_failures: none where flights are kept in memory only.
void add_flight_metrics(const Flights& flights, std::optional<std::uint64_t> write_failures, SampleList& out);

// HTTP responses by status code. Thread-safe.
class RequestMetrics {
 public:
  void count(int status);
  void add_to(SampleList& out) const;

 private:
  static constexpr std::size_t kCodes = 600;
  std::array<std::atomic<std::uint64_t>, kCodes> counts_{};
};

struct PushCounters {
  explicit PushCounters(std::string of) : target(std::move(of)) {}
  const std::string target;
  std::atomic<std::uint64_t> samples = 0, failures = 0, dropped = 0, queue_length = 0;
};

using PushMetrics = std::deque<PushCounters>;
void add_push_metrics(const PushMetrics& targets, SampleList& out);

}  // namespace igpu::exporter
