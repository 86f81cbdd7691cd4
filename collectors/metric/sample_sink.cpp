// SPDX-License-Identifier: Apache-2.0
#include "metric/sample_sink.h"

#include <cmath>
#include <system_error>

namespace igpu {

void SampleSink::append(const MetricDescriptor& metric, std::span<const std::string_view> labels, double value) {
  if (is_finite(metric, value)) samples_.add(metric, labels, value);
}

void SampleSink::append(const MetricDescriptor& metric, std::span<const std::string_view> labels,
                        std::span<const std::uint64_t> counts, double sum) {
  if (is_finite(metric, sum)) samples_.add(metric, labels, counts, sum);
}

bool SampleSink::is_finite(const MetricDescriptor& metric, double value) {
  if (std::isfinite(value)) return true;
  failures_.push_back({std::make_error_code(std::errc::result_out_of_range), std::string(metric.name)});
  return false;
}

void SampleSink::clear() {
  samples_.clear();
  features_.clear();
  failures_.clear();
}

}  // namespace igpu
