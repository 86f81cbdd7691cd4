// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "metric/sample_sink.h"

namespace igpu {

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
