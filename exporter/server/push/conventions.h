// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <functional>
#include <string_view>

#include "igpu/metric.h"

// OpenTelemetry's names: semantic conventions for hardware (docs/system/hardware-metrics.md of
// open-telemetry/semantic-conventions, status "development").
namespace igpu::exporter {

enum class Instrument { gauge, counter, updown_counter, histogram };

struct ConventionAttribute {
  std::string_view name, value;
};

struct Convention {
  std::string_view metric;  // the exporter's name
  // Applies only to samples with this value of this label; "": to all.
  std::string_view label, value;
  std::string_view name, unit;
  Instrument instrument;
  std::array<ConventionAttribute, 2> attributes{};  // in addition to the labels
  // The label `renamed` becomes `attribute`. The label device becomes hw.id in every row.
  std::string_view renamed{}, attribute{};
};

// Null: the conventions have no such metric, which then keeps its name and labels.
using LabelValue = std::function<std::string_view(std::string_view label)>;  // "": absent
const Convention* convention_of(std::string_view metric, const LabelValue& value_of);

// The unit in UCUM's notation: "s", "By".
std::string_view ucum_unit(const MetricDescriptor& metric);

}  // namespace igpu::exporter
