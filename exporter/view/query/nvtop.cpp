// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "text/formatted.h"
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

std::optional<std::string> shown_with_unit(std::string_view field, const Row& row, std::string_view unit) {
  const Value value = value_of(field, row);
  if (!value) return std::nullopt;
  return whole(std::get<double>(*value), unit);
}

constexpr double kBytesPerMebibyte = 1 << 20;

std::optional<std::string> bytes(std::string_view field, const Row& row) {
  const Value value = value_of(field, row);
  if (!value) return std::nullopt;
  return whole(std::get<double>(*value) * kBytesPerMebibyte, "");
}

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
    to.add("mem_total", bytes("memory.size", row));
    to.add("mem_used", bytes("memory.used", row));
    to.add("mem_free", bytes("memory.free", row));
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

}  // namespace igpu::exporter::query
