// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "igpu/feature.h"
#include "igpu/metric.h"
#include "igpu/page.h"

namespace igpu {

// Receives a collector's results in three lists: samples, absent features with their reason, and failures. Only
// failures set intel_gpu_scrape_collector_success to 0.
class SampleSink {
 public:
  struct FeatureState {
    const FeatureDescriptor* feature;
    bool available;
    Absent absent;
    std::string device = {};  // PCI address; "": that of the collector, or none
  };

  // out.add(kBusy, {gpu.address, gt, engine}, Seconds{1.5});
  // A wrong number of labels or a wrong unit does not compile. NaN and infinity are dropped and counted as a failure.
  template <class Q, std::size_t N>
  void add(const Metric<Q, N>& metric, const std::string_view (&labels)[N], Q value) {
    append(metric, std::span<const std::string_view>(labels), value.value);
  }
  template <class Q>
  void add(const Metric<Q, 0>& metric, Q value) {
    append(metric, {}, value.value);
  }
  // out.add(kWait, {gpu.address}, {counts, Seconds{1.5}});
  template <class Q, std::size_t N, std::size_t B>
  void add(const HistogramMetric<Q, N, B>& metric, const std::string_view (&labels)[N],
           const Observations<Q, B + 1>& observed) {
    append(metric, std::span<const std::string_view>(labels), observed.counts, observed.sum.value);
  }

  // Call one of these for every declared feature of the collector in every collect(). A collector of the whole machine
  // names the device of a feature that is not machine-wide.
  void available(const FeatureDescriptor& feature, std::string_view device = {}) {
    features_.push_back({&feature, true, {}, std::string(device)});
  }
  void absent(const FeatureDescriptor& feature, Absent why, std::string_view device = {}) {
    features_.push_back({&feature, false, why, std::string(device)});
  }
  void failed(const Failure& failure) { failures_.push_back(failure); }

  // Adds a Reading without a value to the list it belongs to.
  template <class T>
  void missing(const FeatureDescriptor& feature, const Reading<T>& reading) {
    if (reading.is_absent()) absent(feature, reading.absent());
    if (reading.is_failure()) failed(reading.failure());
  }

  const SampleList& samples() const { return samples_; }
  const std::vector<FeatureState>& features() const { return features_; }
  const std::vector<Failure>& failures() const { return failures_; }
  void clear();  // keeps the memory

 private:
  void append(const MetricDescriptor& metric, std::span<const std::string_view> labels, double value);
  void append(const MetricDescriptor& metric, std::span<const std::string_view> labels,
              std::span<const std::uint64_t> counts, double sum);
  bool is_finite(const MetricDescriptor& metric, double value);

  SampleList samples_;
  std::vector<FeatureState> features_;
  std::vector<Failure> failures_;
};

}  // namespace igpu
