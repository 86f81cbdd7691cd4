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
#include "igpu/feature.h"
#include "igpu/model.h"

namespace igpu::exporter::query {

// The fields that scripts request by name: those of the model (gpu_fields()), and what discovery knows of a GPU.

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

// The formats in which `query` prints fields.

using Fields = std::vector<Field>;

struct CsvStyle {
  bool header = true;
  bool units = true;  // behind values, and in brackets in the header
};

// gpu.name, power.mean [W]
void write_csv_header(const Fields& fields, const CsvStyle& style, std::string& out);
// A line for each GPU; cells are separated by a comma and a blank, as in nvidia-smi and xpu-smi. An unknown value is
// [N/A].
void write_csv(const Fields& fields, const CsvStyle& style, std::span<const Row> rows, std::string& out);
// One line: an array with an object for each GPU. An unknown value is null.
void write_json(const Fields& fields, std::span<const Row> rows, std::string& out);

// The values of the table, for other formats.
inline constexpr std::string_view kQuickFields[] = {
    "gpu.index",  "gpu.name",          "gpu.suspended", "engine.busy", "frequency.actual",
    "power.mean", "temperature.value", "memory.used",   "memory.size", "throttling.reasons"};
// A line for each GPU. Only names are cut, and only where the columns are wider than width.
std::string quick_table(std::span<const Row> rows, int width = 80);

// The collector that provides a field of the model; "discovery" if none is needed.
std::string_view source_of(std::string_view field);
// Every field with its unit, the collector behind it and, for each GPU, whether it can be read and why not.
std::string field_list(std::span<const Row> rows, std::span<const Finding> findings);
std::string field_list_json(std::span<const Row> rows, std::span<const Finding> findings);

// "{engine.video.busy}% {power.mean}W": text with fields in braces; {{ and }} are braces.
class Template {
 public:
  explicit Template(std::string_view text);  // throws std::invalid_argument
  // A line for each GPU; an unknown value is "-".
  void write(std::span<const Row> rows, std::string& out) const;

 private:
  struct Part {
    std::string text;
    std::optional<Field> field{};  // behind the text
  };
  std::vector<Part> parts_;
};

// One snapshot as nvtop 3.3.2 prints it with -s: an array of GPUs, whose values are strings with their units, or null.
// Intel's video engines both encode and decode, so there is encode_decode in place of encode and decode.
void write_nvtop(std::span<const Row> rows, std::string& out);

// One line of JSON for a module of Waybar with return-type json (waybar-custom(5)): text, tooltip, class, percentage.
// text and percentage are the busiest engines of the busiest GPU; the tooltip has a part for each GPU. class is
// unknown, suspended, throttled, high (from 80 %), busy (from 5 %) or idle.
void write_waybar(std::span<const Row> rows, std::string& out);

// What xpu-smi 2.4 prints for --query-gpu. Accepts its names, groups and aliases, and equivalent names of nvidia-smi. A
// field without a source in the kernel is N/A.

struct XpuField;

// The field that one of these names stands for; "": there is none, or the kernel has no such value.
std::string_view field_of_alias(std::string_view name);
std::vector<std::string> aliases();  // names that stand for a field

// Parses names, groups (POWER) and their letters (pu), separated by commas, in upper or lower case. Each field occurs
// once in the result. Throws std::invalid_argument for an unknown name, with the nearest one.
std::vector<const XpuField*> xpu_fields(std::string_view names);
// Every field with its unit, for --query-gpu without names.
std::string xpu_field_list();

void write_xpu_header(std::span<const XpuField* const> fields, const CsvStyle& style, std::string& out);
void write_xpu_csv(std::span<const XpuField* const> fields, std::span<const Row> rows, std::string& out);

}  // namespace igpu::exporter::query
