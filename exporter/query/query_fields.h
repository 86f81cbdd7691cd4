// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "igpu/device.h"
#include "igpu/model.h"

// The fields that scripts request by plain names: one table over the model. The names are an interface.
namespace igpu::exporter::query {

// One GPU of one reading.
struct Row {
  const GpuModel& model;
  const Gpu& gpu;     // from discovery
  std::size_t index;  // its number: number_of()
  std::chrono::system_clock::time_point time;
};

using Scalar = std::variant<double, std::string>;
using Value = Reading<Scalar>;

struct Field {
  std::string_view name;   // "power.draw.watts"; its last part is the unit, if it has one
  std::string_view alias;  // "power"
  std::string_view unit;   // "W"; "": text, or a plain number
  std::string_view model;  // the field of the model it is computed from (model/fields.cpp); "": it comes from discovery
  Value (*get)(const Row&);

  std::string_view without_unit() const;  // "power.draw"
};

std::span<const Field> fields();
// Finds a field by its name, its name without the unit, or its alias; null: there is none.
const Field* find_field(std::string_view name);
// The same; throws std::invalid_argument with the nearest name.
const Field& required_field(std::string_view name);
Value value_of(std::string_view field, const Row& row);

// The GPUs of a reading, in the order of `gpus`. All three must outlive the rows.
std::vector<Row> rows_of(const HostModel& host, std::span<const Gpu> gpus, std::chrono::system_clock::time_point time);

// The value with the decimals of its unit, without the unit: "141.7", "xe".
std::string text_of(const Field& field, const Scalar& value);
// The number as text_of() shows it; 0 for text.
double rounded(const Field& field, double value);

}  // namespace igpu::exporter::query
