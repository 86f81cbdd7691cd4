// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <span>

#include "igpu/page.h"
#include "platform/own_process.h"
#include "platform/sandbox_layers.h"
#include "server/self/self_metrics.h"
#include "server/service/logging.h"

namespace igpu::exporter {

std::span<const MetricDescriptor* const> process_metrics();

// The standard process_* metrics of every Prometheus client library, for this process.
// Values that cannot be read are omitted.
class ProcessMetrics final : public SelfMetrics {
 public:
  void add_to(SampleList& out) const override;

 private:
  UsageReader usage_;
};

// HTTP responses by status code. Thread-safe.
class RequestMetrics {
 public:
  static std::span<const MetricDescriptor* const> metrics();

  void count(int status);
  void add_to(SampleList& out) const;

 private:
  static constexpr std::size_t kCodes = 600;
  std::array<std::atomic<std::uint64_t>, kCodes> counts_{};
};

// Metrics about the log. Thread-safe.
class LogMetrics final : public SelfMetrics {
 public:
  explicit LogMetrics(const StderrLog& log) : log_(log) {}  // which must outlive this

  static std::span<const MetricDescriptor* const> metrics();
  void add_to(SampleList& out) const override;

 private:
  const StderrLog& log_;
};

// Which layers of the sandbox are on. Thread-safe.
class SandboxMetrics final : public SelfMetrics {
 public:
  static std::span<const MetricDescriptor* const> metrics();

  void set(Layer layer, bool on) { on_[static_cast<std::size_t>(layer)] = on; }
  void add_to(SampleList& out) const override;

 private:
  std::array<std::atomic<bool>, kLayers.size()> on_{};
};

}  // namespace igpu::exporter
