// SPDX-License-Identifier: Apache-2.0
#include "self/request_metrics.h"

#include <charconv>
#include <string_view>

namespace igpu::exporter {
namespace {

constexpr Metric<Count, 1> kRequests{
    "intel_gpu_exporter_http_requests_total", Kind::counter, "HTTP requests answered, by status code.", {"code"}};
constexpr std::array<const MetricDescriptor*, 1> kRequestMetrics{&kRequests};

}  // namespace

std::span<const MetricDescriptor* const> RequestMetrics::metrics() { return kRequestMetrics; }

void RequestMetrics::count(int status) {
  const auto code = static_cast<std::size_t>(status);
  if (status >= 0 && code < kCodes) counts_[code].fetch_add(1, std::memory_order_relaxed);
}

void RequestMetrics::add_to(SampleList& out) const {
  for (std::size_t code = 0; code < kCodes; ++code) {
    const std::uint64_t count = counts_[code].load(std::memory_order_relaxed);
    // The usual codes are exported from the start, so that rate() counts the first response, too.
    if (count == 0 && code != 200 && code != 500 && code != 503) continue;
    char text[8];
    const auto end = std::to_chars(text, text + sizeof text, code).ptr;
    const std::string_view label(text, static_cast<std::size_t>(end - text));
    out.add(kRequests, std::span(&label, 1), static_cast<double>(count));
  }
}

}  // namespace igpu::exporter
