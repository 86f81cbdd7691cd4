// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <stdexcept>
#include <utility>

#include "text/text.h"
#include "view/format/csv_rows.h"
#include "view/format/text_writer.h"
#include "view/query/query_output.h"

namespace igpu::exporter::query {

// How a text of ours is written.
using Form = std::string (*)(const Scalar&);

struct XpuField {
  std::string_view name;
  std::string_view aliases;  // separated by blanks
  std::string_view unit;
  std::string_view groups;   // letters of kGroups
  std::string_view field{};  // ours; "": the kernel has none
  Form form = nullptr;       // unless it is written as every text and number is
};

namespace {

// As xpu-smi writes it: MHz, MiB and plain numbers with as many digits as they need.
std::string plain(const Scalar& value, std::string_view unit) {
  const double* const number = std::get_if<double>(&value);
  if (number == nullptr) return clean_text(std::get<std::string>(value));
  if (unit == "C" || unit == "%" || unit == "W" || unit == "J") return formatted("%.2f", *number);
  std::string text;
  append_number(text, *number);
  return text;
}

// 2026-11-23T07:43:37.123Z -> 2026/11/23 07:43:37.123
std::string with_slashes(const Scalar& value) {
  std::string text = std::get<std::string>(value);
  std::ranges::replace(text, '-', '/');
  std::ranges::replace(text, 'T', ' ');
  text.resize(text.size() - 1);
  return text;
}
// 0x56a0 -> 0x56A0
std::string hexadecimal(const Scalar& value) {
  std::string text = std::get<std::string>(value);
  std::transform(text.begin() + 2, text.end(), text.begin() + 2, to_upper);
  return text;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    if (const std::string_view part = trimmed(take_until(text, separator)); !part.empty()) parts.push_back(part);
  }
  return parts;
}

// In xpu-smi's order and words. Level Zero reads no others of the drivers' reasons; those keep their names, so that a
// GPU that is held back never shows None.
std::string throttle_names(const Scalar& value) {
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"none", "None"}, {"thermal", "Thermal"}, {"pl1", "Power"}, {"pl2", "PowerBurst"}, {"pl4", "Current"}};
  std::vector<std::string_view> reasons = split(std::get<std::string>(value), '+');
  std::string names;
  const auto add = [&](std::string_view name) { names.append(names.empty() ? "" : ",").append(name); };
  for (const auto& [reason, name] : kNames)
    if (std::erase(reasons, reason) > 0) add(name);
  for (const std::string_view reason : reasons) add(reason);
  return clean_text(names);
}

struct Group {
  std::string_view name;
  char letter;    // in XpuField::groups
  char shortcut;  // ' ': none; p is both power and temperature
};
constexpr Group kGroups[] = {{"IDENTITY", 'i', ' '},    {"MEMORY", 'm', 'm'},   {"UTILIZATION", 'u', 'u'},
                             {"TEMPERATURE", 'h', 'p'}, {"POWER", 'w', 'p'},    {"CLOCK", 'c', 'c'},
                             {"PCI", 't', 't'},         {"EU_ARRAY", 'x', 'x'}, {"FAN", 'f', 'f'}};

// Their names are also names of fields for --fields, where we have the value.
constexpr XpuField kXpuSmiFields[] = {
    {"timestamp", "", "", "i", "time", with_slashes},
    {"name", "gpu_name", "", "i", "gpu.name"},
    {"index", "gpu_index", "", "i", "gpu.index"},
    {"uuid", "gpu_uuid", "", "i"},
    {"serial", "gpu_serial", "", "i"},
    {"driver_version", "", "", "i"},
    {"vbios_version", "", "", "i"},
    {"pci.bus_id", "gpu_bus_id", "", "it", "gpu.address"},
    {"pci.device_id", "", "", "it", "gpu.device_id", hexadecimal},
    {"pci.sub_device_id", "", "", "it"},
    {"temperature.gpu", "", "C", "h", "temperature.value"},
    {"temperature.memory", "", "C", "h", "temperature.vram.value"},
    {"temperature.composite", "", "C", "h"},
    {"utilization.gpu", "", "%", "u", "engine.busy"},
    {"utilization.compute", "utilization.compute.single utilization.compute.group", "%", "u", "engine.compute.busy"},
    {"utilization.render", "utilization.render.single utilization.render.group", "%", "u", "engine.render.busy"},
    {"utilization.media",
     "utilization.media.decode.single utilization.media.encode.single utilization.media.enhancement.single "
     "utilization.media.group",
     "%", "u", "engine.media.busy"},
    {"utilization.copy", "utilization.copy.single utilization.copy.group", "%", "u", "engine.copy.busy"},
    {"utilization.memory", "", "%", "mu"},
    {"pcie.link.gen.max", "", "", "t", "pcie.max_generation"},
    {"pcie.link.width.max", "", "", "t", "pcie.max_width"},
    {"pcie.link.gen.current", "", "", "t", "pcie.generation"},
    {"pcie.link.width.current", "", "", "t", "pcie.width"},
    {"pcie.tx.throughput", "", "MB/s", "t"},
    {"pcie.rx.throughput", "", "MB/s", "t"},
    {"pcie.replay.counter", "", "", "t"},
    {"pcie.rx.throughput.kbs", "", "kB/s", "t"},
    {"pcie.tx.throughput.kbs", "", "kB/s", "t"},
    {"memory.total", "", "MiB", "m", "memory.size"},
    {"memory.used", "", "MiB", "m", "memory.used"},
    {"memory.free", "", "MiB", "m", "memory.free"},
    {"memory.read.bandwidth", "", "kB/s", "m"},
    {"memory.write.bandwidth", "", "kB/s", "m"},
    {"memory.bandwidth.utilization", "", "%", "m"},
    {"power.draw", "power.draw.average", "W", "w", "power.mean"},
    {"power.draw.gpu", "", "W", "w", "power.gpu.mean"},
    {"energy.consumed", "", "J", "w", "power.energy"},
    {"energy.consumed.gpu", "", "J", "w", "power.gpu.energy"},
    {"power.limit", "power.management.limit power.management.limit.default", "W", "w", "power_limit.value"},
    {"power.max_limit", "", "W", "w"},
    {"clocks.current.graphics", "clocks.current.sm clocks.gr clocks.sm", "MHz", "c", "frequency.actual"},
    {"clocks.current.media", "clocks.current.video clocks.video", "MHz", "c", "frequency.media.actual"},
    {"clocks.throttle.reason", "", "", "c", "throttling.reasons", throttle_names},
    {"clocks.max.graphics", "clocks.max.sm clocks.max.gr", "MHz", "c", "frequency.rp0"},
    {"clocks.max.media", "clocks.max.video", "MHz", "c", "frequency.media.rp0"},
    {"eu.active", "", "%", "x"},
    {"eu.stall", "", "%", "x"},
    {"eu.idle", "", "%", "x"},
    {"fan.speed", "", "%", "f"},
};

// The letters of a group, or of groups by their shortcuts; "" unless the word is one.
std::string groups_of(std::string_view word) {
  std::string letters;
  for (const Group& group : kGroups)
    if (equal_ignoring_case(word, group.name) || equal_ignoring_case(word, "ALL")) letters += group.letter;
  if (!letters.empty()) return letters;
  for (const char c : word) {
    const std::size_t before = letters.size();
    for (const Group& group : kGroups)
      if (group.shortcut == to_lower(c)) letters += group.letter;
    if (letters.size() == before) return {};
  }
  return letters;
}

bool has_name(const XpuField& field, std::string_view name) {
  if (equal_ignoring_case(field.name, name)) return true;
  const auto aliases = split(field.aliases, ' ');
  return std::ranges::any_of(aliases, [&](std::string_view alias) { return equal_ignoring_case(alias, name); });
}

template <class Is>
std::vector<std::string> names_where(const Is& is) {
  std::vector<std::string> names;
  for (const XpuField& field : kXpuSmiFields) {
    if (!is(field)) continue;
    names.emplace_back(field.name);
    for (const std::string_view alias : split(field.aliases, ' ')) names.emplace_back(alias);
  }
  return names;
}

[[noreturn]] void fail_for(std::string_view name) {
  const std::string meant = nearest(lower(name.substr(0, 64)), names_where([](const XpuField&) { return true; }));
  throw std::invalid_argument("Field \"" + std::string(name.substr(0, 64)) + "\" is not a valid field to query" +
                              (meant.empty() ? "" : "; did you mean " + meant + "?"));
}

}  // namespace

std::vector<std::string> aliases() {
  return names_where([](const XpuField& field) { return !field.field.empty(); });
}

std::string_view field_of_alias(std::string_view name) {
  const auto found = std::ranges::find_if(kXpuSmiFields, [&](const XpuField& field) { return has_name(field, name); });
  return found == std::end(kXpuSmiFields) ? std::string_view() : found->field;
}

std::vector<const XpuField*> xpu_fields(std::string_view names) {
  std::vector<const XpuField*> wanted;
  const auto add = [&](const XpuField& field) {
    if (std::ranges::find(wanted, &field) == wanted.end()) wanted.push_back(&field);
  };
  for (const std::string_view word : split(names, ',')) {
    const std::string letters = groups_of(word);
    bool found = false;
    for (const XpuField& field : kXpuSmiFields) {
      if (!has_name(field, word) && field.groups.find_first_of(letters) == std::string_view::npos) continue;
      add(field);
      found = true;
    }
    if (!found) fail_for(word);
  }
  if (wanted.empty()) fail_for(names);
  return wanted;
}

std::string xpu_field_list() {
  std::string out;
  for (const XpuField& field : kXpuSmiFields) {
    out += field.name;
    if (!field.unit.empty()) out.append(" (").append(field.unit).append(")");
    out += '\n';
  }
  return out;
}

void write_xpu_header(std::span<const XpuField* const> fields, const CsvStyle& style, std::string& out) {
  if (!style.header) return;
  for (const XpuField* const field : fields) {
    if (field != fields.front()) out += ", ";
    out += field->name;
    if (style.units && !field->unit.empty()) out.append(" (").append(field->unit).append(")");
  }
  out += '\n';
}

void write_xpu_csv(std::span<const XpuField* const> fields, std::span<const Row> rows, std::string& out) {
  for (const Row& row : rows) {
    for (const XpuField* const field : fields) {
      if (field != fields.front()) out += ", ";
      const Value value = field->field.empty() ? Value(Absent{Reason::kernel}) : value_of(field->field, row);
      if (!value)
        out += "N/A";
      else
        append_csv_cell(out, field->form != nullptr ? field->form(*value) : plain(*value, field->unit));
    }
    out += '\n';
  }
}

}  // namespace igpu::exporter::query
