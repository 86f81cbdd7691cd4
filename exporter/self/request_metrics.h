// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <span>

#include "igpu/page.h"

namespace igpu::exporter {

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

}  // namespace igpu::exporter
