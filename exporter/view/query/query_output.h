// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "igpu/feature.h"
#include "view/query/query_fields.h"

// The formats in which `query` prints fields.
namespace igpu::exporter::query {

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

}  // namespace igpu::exporter::query
