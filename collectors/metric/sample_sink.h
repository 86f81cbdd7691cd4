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

// Combines the readings behind one feature: available if any has a value, otherwise absent with the most useful reason
// (fixable ones first). Failures go to the sink at once. The destructor reports the result.
class FeatureReport {
 public:
  // of_function: for an SR-IOV virtual function, what its kernel does not expose belongs to the host. device: its PCI
  // address, for a collector of the whole machine.
  FeatureReport(SampleSink& out, const FeatureDescriptor& feature, Absent otherwise = {Reason::hardware},
                bool of_function = false, std::string_view device = {})
      : out_(out), feature_(feature), absent_(otherwise), of_function_(of_function), device_(device) {}
  ~FeatureReport() {
    if (available_) {
      out_.available(feature_, device_);
    } else if (!failed_) {
      if (of_function_ && absent_.reason == Reason::kernel) absent_.reason = Reason::hardware;
      out_.absent(feature_, absent_, device_);
    }
  }
  FeatureReport(const FeatureReport&) = delete;
  FeatureReport& operator=(const FeatureReport&) = delete;

  // Returns whether there is a value.
  template <class T>
  bool note(const Reading<T>& reading) {
    if (reading) {
      available_ = true;
      return true;
    }
    if (reading.is_failure()) {
      failed_ = true;
      out_.failed(reading.failure());
    } else if (!noted_ || (reading.absent().reason == Reason::permission && absent_.reason != Reason::permission)) {
      noted_ = true;
      absent_ = reading.absent();
    }
    return false;
  }
  void available() { available_ = true; }
  // Notes the reading, and adds its value as a sample.
  template <class Q, std::size_t N>
  void add(const Metric<Q, N>& metric, const std::string_view (&labels)[N], const Reading<Q>& reading) {
    if (note(reading)) out_.add(metric, labels, *reading);
  }

 private:
  SampleSink& out_;
  const FeatureDescriptor& feature_;
  Absent absent_;
  bool of_function_;
  std::string_view device_;
  bool available_ = false;
  bool failed_ = false;
  bool noted_ = false;
};

}  // namespace igpu
