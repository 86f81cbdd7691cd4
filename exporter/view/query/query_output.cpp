// SPDX-License-Identifier: Apache-2.0
#include "view/query/query_output.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <stdexcept>
#include <utility>

#include "igpu/device.h"
#include "text/text.h"
#include "view/format/csv_rows.h"
#include "view/format/json_writer.h"
#include "view/format/text_writer.h"

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

constexpr std::string_view kMissing = "[N/A]";

std::string shown(const Field& field, const Row& row, std::string_view missing) {
  const Value value = field.get(row);
  return value ? clean_text(text_of(field, *value)) : std::string(missing);
}

// Everyday sizes for the table: "8.6/16.0G".
std::string memory_cell(const Row& row) {
  const Value used = value_of("memory.used", row), size = value_of("memory.size", row);  // in MiB
  const auto gibibytes = [](const Value& value) {
    return value ? formatted("%.1f", std::get<double>(*value) / 1024) : "-";
  };
  return used || size ? gibibytes(used) + "/" + gibibytes(size) + "G" : "-";
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

void write_csv_header(const Fields& fields, const CsvStyle& style, std::string& out) {
  if (!style.header) return;
  for (const Field& field : fields) {
    if (&field != &fields.front()) out += ", ";
    out += field.name;
    if (style.units && !field.unit.plain.empty()) out.append(" [").append(field.unit.plain).append("]");
  }
  out += '\n';
}

void write_csv(const Fields& fields, const CsvStyle& style, std::span<const Row> rows, std::string& out) {
  for (const Row& row : rows) {
    for (const Field& field : fields) {
      if (&field != &fields.front()) out += ", ";
      const std::string text = shown(field, row, kMissing);
      append_csv_cell(out, text);
      if (style.units && !field.unit.plain.empty() && text != kMissing) out.append(" ").append(field.unit.plain);
    }
    out += '\n';
  }
}

void write_json(const Fields& fields, std::span<const Row> rows, std::string& out) {
  JsonWriter json;
  json.begin_array();
  for (const Row& row : rows) {
    json.begin_object();
    for (const Field& field : fields) {
      // "power" and "power.draw" are one member.
      if (&field != &*std::ranges::find(fields, field.name, &Field::name)) continue;
      json.name(field.name);
      const Value value = field.get(row);
      if (!value)
        json.null();
      else if (const auto* const number = std::get_if<double>(&*value))
        json.value(rounded(field, *number));
      else
        json.value(std::get<std::string>(*value));
    }
    json.end_object();
  }
  json.end_array();
  out += json.take() + '\n';
}

std::string quick_table(std::span<const Row> rows, int width) {
  struct Column {
    std::string_view title, field, unit;
    bool right = true;
  };
  constexpr std::size_t kName = 1;
  constexpr Column kColumns[] = {{"GPU", "gpu.index", ""},
                                 {"NAME", "gpu.name", "", false},
                                 {"BUSY", "engine.busy", "%"},
                                 {"MHZ", "frequency.actual", ""},
                                 {"POWER", "power.mean", "W"},
                                 {"TEMP", "temperature.value", "C"},
                                 {"MEMORY", "", ""}};
  using Line = std::array<std::string, std::size(kColumns)>;
  std::vector<Line> lines(rows.size() + 1);
  std::array<int, std::size(kColumns)> widths{};
  int left = width + 1;  // for the name; no gap before the first column
  for (std::size_t i = 0; i < std::size(kColumns); ++i) {
    lines[0][i] = kColumns[i].title;
    for (std::size_t row = 0; row < rows.size(); ++row) {
      std::string& cell = lines[row + 1][i];
      cell =
          kColumns[i].field.empty() ? memory_cell(rows[row]) : shown(required_field(kColumns[i].field), rows[row], "-");
      if (cell != "-") cell += kColumns[i].unit;
    }
    for (const Line& line : lines) widths[i] = std::max(widths[i], static_cast<int>(cell_width(line[i])));
    left -= i == kName ? 1 : widths[i] + 1;
  }
  widths[kName] = std::clamp(left, std::min(widths[kName], 8), widths[kName]);
  std::string out;
  for (std::size_t row = 0; row < lines.size(); ++row) {
    for (std::size_t i = 0; i < std::size(kColumns); ++i) {
      const std::string text = cut_to_cells(lines[row][i], widths[i]);
      const std::string blanks(static_cast<std::size_t>(widths[i] - cell_width(text)), ' ');
      out.append(i == 0 ? "" : " ").append(kColumns[i].right ? blanks + text : text + blanks);
    }
    out += '\n';
    if (row == 0) continue;
    const std::string reasons = shown(required_field("throttling.reasons"), rows[row - 1], "none");
    if (rows[row - 1].model.suspended.value_or(false)) out += "    asleep\n";
    if (reasons != "none") out += "    throttled: " + reasons + '\n';
  }
  return out;
}

Template::Template(std::string_view text) {
  parts_.emplace_back();
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool doubled = i + 1 < text.size() && text[i + 1] == c;
    if ((c != '{' && c != '}') || doubled) {
      parts_.back().text += c;
      if (c == '{' || c == '}') ++i;
      continue;
    }
    const std::size_t end = text.find('}', i);
    if (c == '}' || end == std::string_view::npos)
      throw std::invalid_argument(std::string("a single ") + c + "; a field is {NAME}, a brace is " + c + c);
    parts_.back().field = required_field(text.substr(i + 1, end - i - 1));
    parts_.emplace_back();
    i = end;
  }
}

void Template::write(std::span<const Row> rows, std::string& out) const {
  for (const Row& row : rows) {
    for (const Part& part : parts_) {
      out += part.text;
      if (part.field) out += shown(*part.field, row, "-");
    }
    out += '\n';
  }
}

}  // namespace igpu::exporter::query
