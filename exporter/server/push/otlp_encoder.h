// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "igpu/page.h"
#include "server/push/conventions.h"

namespace igpu::exporter {

// Pages as ExportMetricsServiceRequest of OTLP (opentelemetry-proto, collector/metrics/v1). Counters are cumulative.
// The true start of a series is unknown, so its start time is the time of its first point, as the data model says. If
// its value falls, the series restarts at the time of the previous point.
class OtlpEncoder {
 public:
  using Attributes = std::vector<std::pair<std::string, std::string>>;
  OtlpEncoder(Attributes resource, std::string scope, std::string version)
      : resource_(std::move(resource)), scope_(std::move(scope)), version_(std::move(version)) {}

  // Replaces out; returns the number of data points.
  std::uint64_t encode(const PageView& page, std::chrono::system_clock::time_point time, std::string& out);

 private:
  struct Series {
    std::uint64_t start = 0, last = 0;  // nanoseconds
    double value = 0;
    std::uint64_t reading = 0;
  };
  // A metric under its final name; points: encoded data points.
  struct Output {
    std::string_view name, help, unit;
    Instrument instrument;
    std::string points;
  };
  Output& output_of(std::string_view name, std::string_view help, std::string_view unit, Instrument instrument);
  std::uint64_t start_of(std::string series, double value, std::uint64_t now, bool resets);
  void add_point(const PageView::Entry& entry, const MetricDescriptor& metric, std::uint64_t now);

  Attributes resource_;
  std::string scope_, version_;
  std::unordered_map<std::string, Series> series_;
  std::uint64_t readings_ = 0;
  std::vector<Output> outputs_;  // of the current reading
  std::string attributes_, packed_;
};

}  // namespace igpu::exporter
