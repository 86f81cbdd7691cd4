// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "igpu/feature.h"
#include "igpu/metric.h"
#include "igpu/page.h"

namespace igpu {

// Where a collector puts what it found: samples, what is absent and why, what failed. Three lists; only failures lower
// intel_gpu_scrape_collector_success.
class SampleSink {
 public:
  struct FeatureState {
    const FeatureDescriptor* feature;
    bool available;
    Absent absent;
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

  // One of these for every declared feature of the collector at every collect().
  void available(const FeatureDescriptor& feature) { features_.push_back({&feature, true, {}}); }
  void absent(const FeatureDescriptor& feature, Absent why) { features_.push_back({&feature, false, why}); }
  void failed(const Failure& failure) { failures_.push_back(failure); }

  // Files a Reading that is not a value under the right list.
  template <class T>
  void missing(const FeatureDescriptor& feature, const Reading<T>& reading) {
    if (reading.is_absent()) absent(feature, reading.absent());
    if (reading.is_failure()) failed(reading.failure());
  }

  const SampleList& samples() const { return samples_; }
  const std::vector<FeatureState>& features() const { return features_; }
  const std::vector<Failure>& failures() const { return failures_; }
  void clear();  // keeps memory

 private:
  void append(const MetricDescriptor& metric, std::span<const std::string_view> labels, double value);

  SampleList samples_;
  std::vector<FeatureState> features_;
  std::vector<Failure> failures_;
};

}  // namespace igpu
