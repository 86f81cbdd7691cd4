// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "text/unicode.h"
#include "view/format/json_writer.h"
#include "view/query/query_output.h"

namespace igpu::exporter::query {
namespace {

std::string with_unit(std::string_view name, const Row& row) {
  const Field field = required_field(name);
  const Value value = field.get(row);
  if (!value) return {};
  const std::string_view unit = field.unit.plain;
  return text_of(field, *value) + (unit.empty() || unit == "%" ? "" : " ") + std::string(unit);
}

bool is_throttled(const GpuModel& gpu) { return !snapshot::throttle_reasons(gpu).empty(); }

std::string tooltip(const Row& row) {
  std::string text = row.gpu.name.empty() ? row.gpu.address : row.gpu.name;
  const auto add = [&](std::string_view title, std::string_view field) {
    const std::string value = with_unit(field, row);
    if (!value.empty()) text.append("\n").append(title).append(" ").append(value);
  };
  for (std::size_t i = 0; i < kEngineClasses; ++i) {
    const std::string_view name = to_string(static_cast<EngineClass>(i));
    add(name, "engine." + std::string(name) + ".busy");
  }
  add("frequency", "frequency.actual");
  add("power", "power.mean");
  add("temperature", "temperature.value");
  add("memory", "memory.used_ratio");
  if (is_throttled(row.model)) add("throttled:", "throttling.reasons");
  return text;
}

}  // namespace

void write_waybar(std::span<const Row> rows, std::string& out) {
  std::optional<double> most;
  bool suspended = !rows.empty(), throttled = false;
  std::string tooltips;
  for (const Row& row : rows) {
    if (const Value busy = value_of("engine.busy", row)) most = std::max(most.value_or(0), std::get<double>(*busy));
    suspended = suspended && row.model.suspended.value_or(false);
    throttled = throttled || is_throttled(row.model);
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
