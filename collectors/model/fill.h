// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "igpu/page.h"
#include "model/fields.h"

namespace igpu::model {

// The fields of one metric, and where its samples have their labels.
class Binding {
 public:
  explicit Binding(const MetricDescriptor& metric);

  const MetricDescriptor* metric() const { return metric_; }
  std::span<const Field> fields() const { return fields_; }  // empty: the model has none
  std::string_view device(const SampleList& list, const SampleList::Sample& sample) const {
    return at(list, sample, device_);
  }
  Labels labels(const SampleList& list, const SampleList::Sample& sample) const;

 private:
  static constexpr std::uint8_t kNone = kMaxLabels;
  std::uint8_t position_of(std::string_view label) const;
  static std::string_view at(const SampleList& list, const SampleList::Sample& sample, std::uint8_t position) {
    return position == kNone ? std::string_view() : list.label_value(sample, position);
  }

  const MetricDescriptor* metric_;
  std::span<const Field> fields_;
  std::array<std::uint8_t, kMaxFieldLabels> positions_{};
  std::uint8_t labels_ = 0, device_ = kNone;
};

// Stores the value of a sample in each of its metric's fields whose Field::is matches the labels.
void store(std::span<const Field> fields, const Target& to, const Labels& labels, double value);

}  // namespace igpu::model
