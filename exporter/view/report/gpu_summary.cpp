// SPDX-License-Identifier: Apache-2.0
#include "view/report/gpu_summary.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <utility>

#include "igpu/values.h"
#include "igpu/words.h"
#include "text/text.h"

namespace igpu::exporter {

using namespace snapshot;
namespace {

std::string text_of(Ratio ratio) { return formatted("%6.1f %%", ratio.value * 100); }
std::string text_of(Hertz hertz) { return formatted("%6.0f MHz", hertz.value / 1e6); }
std::string text_of(Bytes bytes) { return human_bytes(bytes.value); }

std::string gt_name(unsigned gt) { return "gt" + std::to_string(gt); }

std::string name_of(const Engine& engine) {
  const std::string name = (engine.gt ? gt_name(*engine.gt) + ' ' : "") + engine.name;
  const std::string_view engine_class = to_string(engine.engine_class);
  return engine.name == engine_class ? name : name + ' ' + std::string(engine_class);
}

std::string_view topic_of(const GpuField& field) { return field.path.substr(0, field.path.find('.')); }

class Sections {
 public:
  // Calls add(section, row) for each row, and keeps the section if it has a row then.
  template <class Row, class Add>
  void add(std::string_view title, const Reading<std::vector<Row>>& rows, const Add& add) {
    if (!rows) return;
    SummarySection section{title, {}};
    for (const Row& row : *rows) add(section, row);
    if (!section.rows.empty()) sections.push_back(std::move(section));
  }
  template <class Quantity>
  static void put(SummarySection& section, std::string name, const Reading<Quantity>& value) {
    if (value) section.rows.push_back({std::move(name), text_of(*value)});
  }

  std::vector<SummarySection> sections;
};

// A section for the fields of one topic that are for people: the rows of each, by the label that tells them apart.
void put_topic(std::vector<SummarySection>& to, const GpuModel& gpu, std::span<const GpuField* const> fields) {
  SummarySection section{topic_of(*fields.front()), {}};
  std::vector<std::pair<std::string, SummaryRow>> rows;
  for (const GpuField* const field : fields) {
    const auto known = values_of(gpu, *field);
    if (!known) continue;
    const EverydayUnit& unit = everyday(field->unit);
    for (const FieldValue& one : *known) {
      if (!one.value) continue;
      std::string name = one.labels.empty() ? field->title : one.labels.front().value;
      if (!one.labels.empty() && one.labels.front().name == "gt") name.insert(0, "gt");
      const auto same = std::find_if(rows.rbegin(), rows.rend(), [&](const auto& row) { return row.first == name; });
      std::string text =
          formatted("%6.*f %s", unit.in_tables, *one.value * unit.factor, std::string(unit.shown).c_str());
      const std::string member =
          fields.size() > 1 ? ' ' + std::string(field->path.substr(field->path.find('.') + 1)) : "";
      rows.insert(same == rows.rend() ? rows.end() : same.base(),
                  {name, {name + member, std::move(text), field->path}});
    }
  }
  for (auto& [label, row] : rows) section.rows.push_back(std::move(row));
  if (!section.rows.empty()) to.push_back(std::move(section));
}

void put_memory(SummarySection& section, const MemoryRegion& region) {
  if (!region.size) return;
  const std::string used = region.used ? human_bytes(region.used->value) + " used of " : "";
  section.rows.push_back({region.name, used + human_bytes(region.size->value)});
}

// All reasons are one row, which may be long.
void put_throttling(SummarySection& section, const Throttling& gt) {
  for (const std::string_view reason : throttle_reasons(gt)) {
    if (section.rows.empty()) section.rows.emplace_back();
    std::string& text = section.rows.front().name;
    text += (text.empty() ? "" : ", ") + gt_name(gt.gt) + ' ' + std::string(reason);
  }
}

std::vector<SummaryProcess> processes(const GpuModel& gpu) {
  std::vector<SummaryProcess> sorted;
  if (!gpu.processes) return sorted;
  for (const Process& process : *gpu.processes) {
    SummaryProcess& row = sorted.emplace_back();
    row.pid = std::to_string(process.pid);
    row.comm = process.comm;
    row.resident_bytes = resident(process.memory).value_or({}).value;
    for (std::size_t i = 0; i < kEngineClasses; ++i) {
      const double ratio = process.busy[i].value_or({}).value;
      if (ratio < kIdleShare) continue;
      row.busy += ratio;
      row.classes.push_back(std::string(to_string(static_cast<EngineClass>(i))) + formatted(" %.1f %%", ratio * 100));
    }
  }
  std::ranges::stable_sort(sorted, [](const SummaryProcess& a, const SummaryProcess& b) {
    return std::pair(a.busy, a.resident_bytes) > std::pair(b.busy, b.resident_bytes);
  });
  return sorted;
}

// One row each: "vf1 xe-vfio-pci", "news: video 20.1 %".
void put_functions(Sections& to, const GpuModel& gpu) {
  SummarySection section{"functions", {}};
  for (const VirtualFunction& function : gpu.functions)
    section.rows.push_back({exporter::name_of(function),
                            function.workload + (function.workload.empty() ? "" : ": ") + loads_of(function)});
  if (!section.rows.empty()) to.sections.push_back(std::move(section));
}

// In seconds.
constexpr double kWindow = 5, kSpan = 900, kLeast = 60, kApart = 0.5, kStall = 2, kSetBack = 60;
constexpr double kSame = 0.02;  // pictures are whole, so a rate over five seconds is right within this

// The median, if half of the rates are the same as it.
template <class Rates>
std::optional<double> constant_rate(const Rates& rates) {
  if (rates.size() < 3 || rates.back().at - rates.front().at < kLeast) return std::nullopt;
  std::vector<double> sorted;
  for (const auto& rate : rates) sorted.push_back(rate.jobs);
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  const double median = *middle;
  const auto same =
      std::ranges::count_if(sorted, [&](double rate) { return std::abs(rate - median) <= kSame * median; });
  if (median <= 0 || 2 * static_cast<std::size_t>(same) < sorted.size()) return std::nullopt;
  return median;
}

}  // namespace

std::string human_bytes(double value) {
  constexpr std::array<const char*, 5> kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return formatted("%6.*f %s", unit == 0 ? 0 : 1, value, kUnits[unit]);
}

std::vector<SummarySection> sections_of(const GpuModel& gpu) {
  Sections to;
  to.add("engines", gpu.engines, [&](auto& out, const Engine& row) { to.put(out, name_of(row), row.busy); });
  const std::span<const GpuField> all = gpu_fields();
  for (auto field = all.begin(); field != all.end();) {
    std::vector<const GpuField*> shown;
    const std::string_view topic = topic_of(*field);
    for (; field != all.end() && topic_of(*field) == topic; ++field)
      if (!field->title.empty() && field->key.empty() && !metric_of(field->path).ends_with("_total"))
        shown.push_back(&*field);
    if (topic == "throttling") to.add("throttled", gpu.throttling, put_throttling);
    if (topic == "rc6")
      to.add("rc6", gpu.rc6, [&](auto& out, const Residency& row) { to.put(out, gt_name(row.gt), row.ratio); });
    if (topic == "memory") to.add("memory", gpu.memory, put_memory);
    if (!shown.empty() && topic != "engine" && topic != "memory") put_topic(to.sections, gpu, shown);
  }
  put_functions(to, gpu);
  return std::move(to.sections);
}

std::vector<SummarySection> undrawn(std::vector<SummarySection> sections) {
  constexpr std::array<std::string_view, 7> kDrawn{"engines", "busy",   "frequency", "throttled",
                                                   "rc6",     "memory", "functions"};
  constexpr std::array<std::string_view, 5> kDrawnFields{"frequency.actual", "frequency.requested", "power.mean",
                                                         "temperature.value", "fan.speed"};
  std::erase_if(sections, [&](SummarySection& section) {
    const bool is_drawn = contains(kDrawn, section.title) && (section.rows.empty() || section.rows[0].field.empty());
    std::erase_if(section.rows, [&](const SummaryRow& row) { return contains(kDrawnFields, row.field); });
    return is_drawn || section.rows.empty();
  });
  return sections;
}

GpuSummary summarize(const GpuModel& gpu) { return {gpu.suspended.value_or(false), sections_of(gpu), processes(gpu)}; }

std::vector<SummarySection> sections_of(const Npu& npu) {
  Sections to;
  const Reading<std::vector<Npu>> one(std::vector<Npu>{npu});
  to.add("busy", one, [&](auto& out, const Npu& row) { to.put(out, "jobs submitted", row.busy); });
  to.add("frequency", one, [&](auto& out, const Npu& row) {
    to.put(out, "current", row.frequency);
    to.put(out, "max", row.max_frequency);
  });
  to.add("memory", one, [&](auto& out, const Npu& row) { to.put(out, "resident", row.resident_memory); });
  to.add("resets", one, [&](auto& out, const Npu& row) {
    if (row.recoveries && row.recoveries->value > 0)
      out.rows.push_back({"since the start", formatted("%6.0f", row.recoveries->value)});
  });
  return std::move(to.sections);
}

std::string name_of(const VirtualFunction& function) {
  return "vf" + std::to_string(function.number) + ' ' + function.driver;
}

std::string loads_of(const VirtualFunction& function) {
  if (function.busy.empty()) return "-";
  std::string text;
  for (const EngineClassLoad& load : function.busy) {
    const double ratio = load.busy.value_or({}).value;
    if (ratio < kIdleShare) continue;
    text += (text.empty() ? "" : ", ") + std::string(to_string(load.engine_class)) + formatted(" %.1f %%", ratio * 100);
  }
  return text.empty() ? "idle" : text;
}

std::string functions_enabled(const GpuModel& gpu) {
  if (!gpu.functions_enabled) return {};
  const auto number = [](const Reading<Count>& count) { return formatted("%.0f", count->value); };
  return number(gpu.functions_enabled) + (gpu.functions_total ? " of " + number(gpu.functions_total) : "") + " enabled";
}

std::string name_of(const Npu& npu) { return npu.name.empty() ? "NPU" : npu.name; }
std::string name_of(const Unbound& gpu) { return gpu.name.empty() ? "(unknown name)" : gpu.name; }

std::string why_unbound(const Unbound& gpu) {
  if (is_guests(gpu)) return "given to a virtual machine: its values are read there";
  if (gpu.reason == "other_driver") return "the driver " + gpu.driver + " has it";
  if (gpu.reason == "no_node") return gpu.driver + " has it, but has made no DRM node for it";
  if (gpu.reason == "firmware") return "no driver: the firmware " + gpu.firmware + " could not be loaded";
  if (gpu.error == "force_probe") return "no driver: " + gpu.driver + " does not take this GPU without force_probe";
  if (!gpu.error.empty()) return "no driver: " + gpu.driver + " failed to take it (error " + gpu.error + ")";
  return "no driver has taken it";
}

UnboundHelp help_for(const Unbound& gpu) {
  if (is_guests(gpu)) return {};
  const std::string look = "sudo dmesg | grep " + gpu.address;
  if (gpu.reason == "other_driver")
    return {"unless it is meant to: this lets i915 or xe take it",
            "echo " + gpu.address + " | sudo tee /sys/bus/pci/devices/" + gpu.address +
                "/driver/unbind /sys/bus/pci/drivers_probe"};
  if (gpu.reason == "no_node") return {"if it stays so after a minute, the kernel log says why", look};
  if (gpu.reason == "firmware")
    return {"install /lib/firmware/" + gpu.firmware +
                " (Debian: firmware-intel-graphics, before 13 firmware-misc-nonfree; Ubuntu: linux-firmware; Fedora: "
                "intel-gpu-firmware; Arch: linux-firmware-intel), then boot again",
            ""};
  const std::string id = gpu.device_id.substr(gpu.device_id.starts_with("0x") ? 2 : 0);
  const std::string force = "boot with i915.force_probe=!" + id + " xe.force_probe=" + id;
  if (gpu.error == "force_probe") return {gpu.driver == "i915" ? "boot with i915.force_probe=" + id : force, ""};
  if (!gpu.error.empty()) return {"", look};
  // Ponte Vecchio and Crescent Island: every kernel's xe wants to be forced (xe_pci.c).
  constexpr std::array<std::string_view, 5> kForced{"0bd", "0be", "0b6", "674", "675"};
  const bool is_forced = std::ranges::any_of(kForced, [&](auto family) { return id.starts_with(family); });
  return {is_forced ? force : "if they are loaded, the kernel log may say why they refuse it: " + look,
          "sudo modprobe -a i915 xe"};
}

std::string line_of(const Unbound& gpu) {
  return clean_text(gpu.address + " " + name_of(gpu) + ": " + why_unbound(gpu)) +
         (is_guests(gpu) ? "" : " (see doctor)");
}

std::string without_gpus(const HostModel& host) {
  if (host.unbound.empty()) return no_gpu_line();
  std::string text;
  for (const Unbound& gpu : host.unbound) text += line_of(gpu) + '\n';
  return text;
}

std::string nothing_to_show(const HostModel& host) {
  return host.npus.empty() ? without_gpus(host) : "An NPU, and no GPU beside it: `stats` and `top` show the NPU.\n";
}

std::string no_gpu_line() { return std::string(kNoGpu) + ": `intel-gpu-exporter doctor` says why.\n"; }

ChannelRate ChannelRates::Course::next(const snapshot::Channel& channel, double now) {
  const double jobs = channel.jobs.value;
  if (!recent.empty() && jobs < recent.back().jobs) *this = {};  // it began anew
  if (recent.empty() || jobs > recent.back().jobs) moved = now;
  recent.push_back({now, jobs});
  while (recent.size() > 2 && recent[1].at <= now - kWindow) recent.pop_front();
  ChannelRate made{channel.name, channel.cards, {}, nominal, 0};
  if (recent.size() < 2) return made;
  made.rate = (jobs - recent.front().jobs) / (now - recent.front().at);
  if (rates.empty() || now >= rates.back().at + kWindow) rates.push_back({now, *made.rate});
  while (rates.front().at < now - kSpan) rates.pop_front();
  const std::optional<double> constant = constant_rate(rates);
  if (constant && (!nominal || *constant >= *nominal * (1 - kSame))) {
    nominal = std::max(constant, nominal);
    held = now;
  } else if (nominal && held < now - kSpan) {
    nominal = constant;
  }
  made.nominal = nominal;
  if (nominal && now - moved >= kStall) made.stalled = now - moved;
  return made;
}

void ChannelRates::note(const HostModel& host, Seconds now) {
  if (now.value < last_ + kApart && now.value > last_ - kSetBack) return;
  if (now.value < last_) courses_.clear();  // the clock was set back
  const bool is_first = last_ == 0;
  last_ = now.value;
  std::map<std::string, Course, std::less<>> courses;
  list_.clear();
  for (const snapshot::Channel& channel : host.channels()) {
    Course& course = courses[channel.name] = std::move(courses_[channel.name]);
    list_.push_back(course.next(channel, now.value));
  }
  courses_ = std::move(courses);  // without those that ended
  // The first reading waits and opens much, so its time may be a second or two beside that of its counts.
  if (is_first) courses_.clear();
}

}  // namespace igpu::exporter
