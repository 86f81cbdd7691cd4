// SPDX-License-Identifier: Apache-2.0
#include "metric/sample_sink.h"

#include <cmath>
#include <system_error>

namespace igpu {

void SampleSink::append(const MetricDescriptor& metric, std::span<const std::string_view> labels, double value) {
  if (!std::isfinite(value)) {
    failures_.push_back({std::make_error_code(std::errc::result_out_of_range), std::string(metric.name)});
    return;
  }
  samples_.add(metric, labels, value);
}

void SampleSink::clear() {
  samples_.clear();
  features_.clear();
  failures_.clear();
}

}  // namespace igpu
