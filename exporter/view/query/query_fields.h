// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "igpu/device.h"
#include "igpu/model.h"

// The fields that scripts request by name: those of the model (gpu_fields()), and what discovery knows of a GPU.
namespace igpu::exporter::query {

// One GPU of one reading.
struct Row {
  const GpuModel& model;
  const Gpu& gpu;     // from discovery
  std::size_t index;  // its number: number_of()
  std::chrono::system_clock::time_point time;
};

using Value = Reading<Scalar>;

struct Field {
  std::string name;          // "power.mean"
  EverydayUnit unit{};       // of the values of get()
  std::string_view model{};  // the path of the model's field; "": it comes from discovery
  std::optional<GpuField> of{};
  Value (*discovered)(const Row&) = nullptr;

  Value get(const Row& row) const;
};

std::span<const Field> fields();
// Finds a field by its name, as gpu_field() does, where "card" is "gpu.card", or by what xpu-smi or nvidia-smi call it;
// nothing: there is none.
std::optional<Field> find_field(std::string_view name);
// The same; throws std::invalid_argument with the nearest name.
Field required_field(std::string_view name);
Value value_of(std::string_view field, const Row& row);

// The GPUs of a reading, in the order of `gpus`. All three must outlive the rows.
std::vector<Row> rows_of(const HostModel& host, std::span<const Gpu> gpus, std::chrono::system_clock::time_point time);

// The value with the decimals of its unit, without the unit: "141.7", "xe".
std::string text_of(const Field& field, const Scalar& value);
// The number as text_of() shows it; 0 for text.
double rounded(const Field& field, double value);

}  // namespace igpu::exporter::query
