// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "text/text.h"
#include "view/format/json_writer.h"
#include "view/query/query_output.h"

namespace igpu::exporter::query {

using namespace snapshot;
namespace {

// Writes members, one on each line, at some depth.
class Members {
 public:
  Members(std::string& out, std::size_t depth) : out_(out), blanks_(depth, ' ') {}

  void add(std::string_view name, std::optional<std::string> text) {
    begin(name);
    if (text)
      append_json_string(out_, *text);
    else
      out_ += "null";
  }
  void begin(std::string_view name) {
    out_.append(first_ ? "\n" : ",\n").append(blanks_);
    first_ = false;
    append_json_string(out_, name);
    out_ += ": ";
  }

 private:
  std::string& out_;
  std::string blanks_;
  bool first_ = true;
};

std::string whole(double value, std::string_view unit) {
  return formatted("%.0f", std::round(value) + 0.0) + std::string(unit);
}

std::optional<std::string> shown_with_unit(std::string_view field, const Row& row, std::string_view unit,
                                           double factor = 1) {
  const Value value = value_of(field, row);
  if (!value) return std::nullopt;
  return whole(std::get<double>(*value) * factor, unit);
}

constexpr double kBytesPerMebibyte = 1 << 20;

std::optional<std::string> percent(const Reading<Ratio>& ratio) {
  if (!ratio) return std::nullopt;
  return whole(ratio->value * 100, "%");
}

void write_process(const Process& process, const Row& row, std::string& out) {
  const Reading<Bytes> used = resident(process.memory);
  const Value size = value_of("memory.size", row);
  Reading<Ratio> busiest = Absent{Reason::hardware};
  for (const Reading<Ratio>& one : process.busy)
    if (one && (!busiest || one->value > busiest->value)) busiest = one;
  const bool computes = process.busy_of(EngineClass::compute).value_or({}).value > 0;
  std::optional<std::string> share;
  if (used && size && std::get<double>(*size) > 0)
    share = whole(100 * used->value / kBytesPerMebibyte / std::get<double>(*size), "%");
  out += "\n   {";
  Members to(out, 4);
  to.add("pid", std::to_string(process.pid));
  to.add("cmdline", process.comm);
  to.add("kind", computes ? "compute" : "graphic");
  to.add("user", process.user.empty() ? std::nullopt : std::optional(process.user));
  to.add("gpu_usage", percent(busiest));
  to.add("gpu_mem_bytes_alloc", used ? std::optional(whole(used->value, "")) : std::nullopt);
  to.add("gpu_mem_usage", share);
  to.add("encode_decode", percent(process.busy_of(EngineClass::video)));
  out += "\n   }";
}

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

void write_nvtop(std::span<const Row> rows, std::string& out) {
  out += '[';
  for (const Row& row : rows) {
    out += row.index == rows.front().index ? "\n {" : ",\n {";
    Members to(out, 2);
    to.add("device_name", row.gpu.name.empty() ? row.gpu.address : row.gpu.name);
    to.add("gpu_clock", shown_with_unit("frequency.actual", row, "MHz"));
    to.add("mem_clock", std::nullopt);
    to.add("temp", shown_with_unit("temperature.value", row, "C"));
    to.add("fan_speed", shown_with_unit("fan.speed", row, "RPM"));
    to.add("power_draw", shown_with_unit("power.mean", row, "W"));
    to.add("gpu_util", shown_with_unit("engine.busy", row, "%"));
    to.add("encode_decode", shown_with_unit("engine.video.busy", row, "%"));
    to.add("mem_util", shown_with_unit("memory.used_ratio", row, "%"));
    to.add("mem_total", shown_with_unit("memory.size", row, "", kBytesPerMebibyte));
    to.add("mem_used", shown_with_unit("memory.used", row, "", kBytesPerMebibyte));
    to.add("mem_free", shown_with_unit("memory.free", row, "", kBytesPerMebibyte));
    to.begin("processes");
    out += '[';
    if (row.model.processes) {
      for (const Process& process : *row.model.processes) {
        if (&process != &row.model.processes->front()) out += ',';
        write_process(process, row, out);
      }
    }
    out += "]\n }";
  }
  out += "\n]\n";
}

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
