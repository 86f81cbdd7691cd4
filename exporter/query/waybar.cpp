// SPDX-License-Identifier: Apache-2.0
#include "query/waybar.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "format/json_writer.h"
#include "text/html.h"

namespace igpu::exporter::query {
namespace {

std::string with_unit(std::string_view name, const Row& row) {
  const Field& field = required_field(name);
  const Value value = field.get(row);
  if (!value) return {};
  const std::string text = text_of(field, *value);
  return field.unit == "%" || field.unit.empty() ? text + std::string(field.unit)
                                                 : text + ' ' + std::string(field.unit);
}

// Has the field a value that is this text?
bool holds(std::string_view field, std::string_view text, const Row& row) {
  const Value value = value_of(field, row);
  return value && std::get<std::string>(*value) == text;
}

bool is_throttled(const Row& row) {
  return value_of("throttle.reasons", row) && !holds("throttle.reasons", "none", row);
}

std::string tooltip(const Row& row) {
  std::string text = row.gpu.name.empty() ? row.gpu.address : row.gpu.name;
  const auto add = [&](std::string_view title, std::string_view field) {
    const std::string value = with_unit(field, row);
    if (!value.empty()) text.append("\n").append(title).append(" ").append(value);
  };
  for (std::size_t i = 0; i < kEngineClasses; ++i) {
    const std::string_view name = to_string(static_cast<EngineClass>(i));
    add(name, "engine." + std::string(name) + ".busy.percent");
  }
  add("frequency", "clocks.gt.mhz");
  add("power", "power.draw.watts");
  add("temperature", "temperature.package.celsius");
  add("memory", "memory.used.percent");
  if (is_throttled(row)) add("throttled:", "throttle.reasons");
  return text;
}

}  // namespace

void write_waybar(std::span<const Row> rows, std::string& out) {
  std::optional<double> most;
  bool suspended = !rows.empty(), throttled = false;
  std::string tooltips;
  for (const Row& row : rows) {
    if (const Value busy = value_of("busy.percent", row)) most = std::max(most.value_or(0), std::get<double>(*busy));
    suspended = suspended && holds("state", "suspended", row);
    throttled = throttled || is_throttled(row);
    tooltips.append(tooltips.empty() ? "" : "\n\n").append(tooltip(row));
  }
  const std::string percent = most ? std::to_string(std::lround(*most)) : "";
  const std::string text = suspended ? "asleep" : most ? percent + "%" : "?";
  const char* const state = suspended     ? "suspended"
                            : !most       ? "unknown"
                            : throttled   ? "throttled"
                            : *most >= 80 ? "high"
                            : *most >= 5  ? "busy"
                                          : "idle";
  JsonWriter json;
  json.begin_object().member("text", text).member("tooltip", html_escaped(tooltips)).member("class", state);
  if (most && !suspended) json.member("percentage", static_cast<int>(std::lround(*most)));
  json.end_object();
  out += json.take() + '\n';
}

}  // namespace igpu::exporter::query
