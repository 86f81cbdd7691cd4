// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "igpu/page.h"
#include "igpu/values.h"

namespace igpu::model {

class Reasons;
struct GpuRows;
struct HostRows;

inline constexpr std::size_t kMaxFieldLabels = 7;
using Labels = std::array<std::string_view, kMaxFieldLabels>;

// The feature and the collector whose finding or failure explains a missing value. Both are empty where a driver offers
// only some of the values: the others are simply not there.
struct Why {
  std::string_view feature, collector;
};

// Where a sample goes. gpu is null for what belongs to the whole machine.
struct Target {
  HostRows& host;
  GpuRows* gpu;
};

enum class Scope { gpu, host, either };  // either: a GPU's if the sample has the label "device", else the host's

// One value of the model, and the samples that it is made of.
struct Field {
  std::string_view path;  // "engine.busy": the value "busy" of the rows "engine"
  std::string_view metric;
  Labels labels{};      // names, in the order in which `store` expects the values: first those that identify the row
  std::string_view is;  // the value that the last label must have; "": any value
  std::string_view unit;
  // What people call it, where a few values stand for a GPU; "": it is shown only to those who ask for it.
  std::string_view title{};
  std::string_view keys{};  // of the first field of rows: words for rows that are listed, as in "engine.video.busy"
  bool truth = false;       // yes or no
  Scope scope = Scope::gpu;
  void (*store)(const Target&, const Labels&, double) = nullptr;
  void (*explain)(GpuRows&, const Reasons&,
                  const Why&) = nullptr;  // sets why rows lack the value; null: nothing to set
  Why why{};                              // also explains why a list has no rows
  Reading<std::vector<FieldValue>> (*values)(const Snapshot&) = nullptr;  // null: a text, or not in a Snapshot
  // The value of the GPU as a whole, or of the rows that the key names. Without `values` it needs a GpuModel.
  Reading<double> (*one)(const Snapshot&, std::string_view key) = nullptr;
  Reading<std::string> (*words)(const Snapshot&) = nullptr;  // the same of a text
};

// All fields. Those of one metric are neighbours.
std::span<const Field> fields();
std::span<const Field> fields_of(std::string_view metric);
const Field* field_at(std::string_view path);  // null: there is none

// Metrics of collectors that the model leaves out on purpose.
std::span<const std::string_view> metrics_left_out();

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
