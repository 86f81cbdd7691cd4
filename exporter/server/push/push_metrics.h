// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <span>
#include <string>

#include "igpu/page.h"

namespace igpu::exporter {

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
