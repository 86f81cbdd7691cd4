// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <string>
#include <utility>

#include "igpu/page.h"
#include "platform/own_process.h"
#include "platform/sandbox_layers.h"
#include "server/service/logging.h"

namespace igpu::exporter {

// Adds metrics of a part of the program to the page; any thread calls it.
using AddMetrics = std::function<void(SampleList& out)>;

std::span<const MetricDescriptor* const> process_metrics();

// The standard process_* metrics of every Prometheus client library, for this process.
// Values that cannot be read are omitted.
class ProcessMetrics {
 public:
  void add_to(SampleList& out) const;

 private:
  UsageReader usage_;
};

std::span<const MetricDescriptor* const> own_metrics();  // of what follows

// Which layers of the sandbox are on.
void add_sandbox_metrics(const SandboxOutcomes& outcomes, SampleList& out);
void add_log_metrics(const StderrLog& log, SampleList& out);

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

// Metrics about pushes; none without a target. Thread-safe once all targets are added.
class PushMetrics {
 public:
  PushCounters& add(std::string target) { return targets_.emplace_back(std::move(target)); }

  static std::span<const MetricDescriptor* const> metrics();
  void add_to(SampleList& out) const;

 private:
  std::deque<PushCounters> targets_;
};

}  // namespace igpu::exporter
