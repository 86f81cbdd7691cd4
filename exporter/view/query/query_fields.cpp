// SPDX-License-Identifier: Apache-2.0
#include "view/query/query_fields.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "igpu/gpu_number.h"
#include "text/formatted.h"
#include "text/nearest.h"
#include "view/format/number.h"
#include "view/query/xpu_smi.h"

namespace igpu::exporter::query {
namespace {

Value word(std::string_view text) {
  if (text.empty()) return Absent{Reason::hardware};
  return Scalar(std::string(text));
}

Value device_id(const Row& row) {
  if (row.gpu.device_id == 0) return Absent{Reason::kernel};
  return Scalar(formatted("0x%04x", unsigned{row.gpu.device_id}));
}

std::vector<Field> discovered() {
  const auto field = [](std::string name, Value (*get)(const Row&)) {
    return Field{.name = std::move(name), .discovered = get};
  };
  return {
      field("gpu.index", [](const Row& row) { return Value(Scalar(static_cast<double>(row.index))); }),
      field("time", [](const Row& row) { return Value(Scalar(time_text(row.time))); }),
      field("gpu.name", [](const Row& row) { return word(row.gpu.name); }),
      field("gpu.address", [](const Row& row) { return word(row.gpu.address); }),
      field("gpu.device_id", device_id),
      field("gpu.card", [](const Row& row) { return word(row.gpu.card); }),
      field("gpu.render_node", [](const Row& row) { return word(row.gpu.render_node); }),
      field("gpu.driver", [](const Row& row) { return word(to_string(row.gpu.driver)); }),
      field("gpu.kind", [](const Row& row) { return word(to_string(row.gpu.kind)); }),
  };
}

Field of_model(const GpuField& field) {
  return {.name = field.name, .unit = everyday(field.unit), .model = field.path, .of = field};
}

}  // namespace

Value Field::get(const Row& row) const {
  if (discovered != nullptr) return discovered(row);
  Value value = igpu::value_of(row.model, *of);
  if (value)
    if (double* const number = std::get_if<double>(&*value)) *number *= unit.factor;
  return value;
}

std::span<const Field> fields() {
  static const std::vector<Field> kAll = [] {
    std::vector<Field> all = discovered();
    for (const GpuField& field : gpu_fields()) all.push_back(of_model(field));
    return all;
  }();
  return kAll;
}

std::optional<Field> find_field(std::string_view name) {
  for (const std::string_view room : {"", "gpu."}) {
    const auto listed = std::ranges::find(fields(), std::string(room) + std::string(name), &Field::name);
    if (listed != fields().end()) return *listed;
  }
  if (const std::optional<GpuField> found = gpu_field(name)) return of_model(*found);
  const std::string_view ours = field_of_alias(name);
  return ours.empty() ? std::nullopt : find_field(ours);
}

Field required_field(std::string_view name) {
  if (std::optional<Field> field = find_field(name)) return *std::move(field);
  std::vector<std::string> names = aliases();
  for (const Field& field : fields()) {
    names.push_back(field.name);
    if (const std::string topic = field.name.substr(0, field.name.find('.')); find_field(topic)) names.push_back(topic);
  }
  const std::string meant = nearest(name, names);
  throw std::invalid_argument("there is no field \"" + std::string(name.substr(0, 64)) + "\"" +
                              (meant.empty() ? " (see query --list)" : "; did you mean " + meant + "?"));
}

Value value_of(std::string_view field, const Row& row) { return required_field(field).get(row); }

std::vector<Row> rows_of(const HostModel& host, std::span<const Gpu> gpus, std::chrono::system_clock::time_point time) {
  static const GpuModel kUnread;  // it came after the reading
  std::vector<Row> rows;
  for (const Gpu& gpu : gpus) {
    const GpuModel* const model = host.gpu(gpu.address);
    rows.push_back({model != nullptr ? *model : kUnread, gpu, number_of(gpu, rows.size()), time});
  }
  return rows;
}

double rounded(const Field& field, double value) {
  const double factor = std::pow(10, field.unit.decimals);
  return std::round(value * factor) / factor + 0.0;  // no negative zero
}

std::string text_of(const Field& field, const Scalar& value) {
  if (const std::string* const text = std::get_if<std::string>(&value)) return *text;
  std::string out;
  append_number(out, rounded(field, std::get<double>(value)));
  return out;
}

}  // namespace igpu::exporter::query
