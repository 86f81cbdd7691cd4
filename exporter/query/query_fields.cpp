// SPDX-License-Identifier: Apache-2.0
#include "query/query_fields.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "format/csv_rows.h"
#include "format/number.h"
#include "igpu/gpu_number.h"
#include "igpu/words.h"
#include "text/formatted.h"
#include "text/nearest.h"

namespace igpu::exporter::query {

using namespace snapshot;
namespace {

template <class Tag>
Value scaled(const Reading<Quantity<Tag>>& reading, double factor = 1) {
  return reading.map([&](const Quantity<Tag>& quantity) { return Scalar(quantity.value * factor); });
}
Value word(std::string_view text) {
  if (text.empty()) return Absent{Reason::hardware};
  return Scalar(std::string(text));
}
Value yes_or_no(const Reading<bool>& reading, const char* yes, const char* no) {
  return reading.map([&](bool on) { return Scalar(std::string(on ? yes : no)); });
}

// The first row that `is` finds; without one, why there is none.
template <class Row, class Is>
Reading<const Row*> row_where(const Reading<std::vector<Row>>& rows, const Is& is) {
  if (!rows) return rows.template propagate<const Row*>();
  const auto found = std::find_if(rows->begin(), rows->end(), is);
  if (found == rows->end()) return Absent{Reason::hardware};
  return &*found;
}
template <class Row, class Tag>
Value member(const Reading<const Row*>& row, Reading<Quantity<Tag>> Row::*value, double factor = 1) {
  return row ? scaled((*row)->*value, factor) : row.template propagate<Scalar>();
}

// --- power ---

Reading<const Power*> power_of(const query::Row& row, std::string_view domain) {
  return row_where(row.model.power, [&](const Power& one) { return one.domain == domain; });
}
Reading<const Power*> drawn(const query::Row& row) {
  const Power* const draw = draw_of(row.model);
  return draw != nullptr ? Reading(draw) : power_of(row, kDrawDomains.back());
}
// The GPU without the rest of the card or the processor.
Reading<const Power*> chip_power(const query::Row& row) {
  return power_of(row, row.gpu.kind == GpuKind::discrete ? "package" : "gpu");
}

Value power_limit(const query::Row& row) {
  if (const PowerLimit* limit = power_limit_of(row.model)) return Scalar(limit->value.value);
  if (!row.model.power_limits) return row.model.power_limits.propagate<Scalar>();
  return Absent{Reason::hardware};
}

// --- memory ---

// `of` used and size.
template <class Of>
Value memory_share(const query::Row& row, const Of& of) {
  const MemoryUse memory = memory_of(row.model);
  if (!memory.used) return memory.used.propagate<Scalar>();
  if (!memory.size) return memory.size.propagate<Scalar>();
  return Scalar(of(memory.used->value, memory.size->value));
}

// --- engines ---

Value busiest(const query::Row& row) {
  const auto& classes = row.model.engine_classes;
  if (!classes) return classes.propagate<Scalar>();
  Reading<Ratio> most = Absent{Reason::hardware};
  for (const EngineClassLoad& load : *classes)
    if (!most || (load.busy && load.busy->value > most->value)) most = load.busy;
  return scaled(most, 100);
}

// The mean over all engines that code or change video.
Value media(const query::Row& row) {
  const auto& classes = row.model.engine_classes;
  if (!classes) return classes.propagate<Scalar>();
  Reading<Ratio> why = Absent{Reason::hardware};
  double sum = 0, engines = 0;
  for (const EngineClassLoad& load : *classes) {
    if (load.engine_class != EngineClass::video && load.engine_class != EngineClass::video_enhance) continue;
    why = load.busy;
    if (!load.busy) continue;
    sum += load.busy->value * load.engines;
    engines += load.engines;
  }
  return engines > 0 ? Value(Scalar(100 * sum / engines)) : scaled(why);
}

template <EngineClass Class>
Value busy(const query::Row& row) {
  return scaled(row.model.busy(Class), 100);
}

// --- the rest ---

template <Reading<Hertz> Frequency::*Member>
Value clock_of_gt(const query::Row& row, unsigned gt) {
  return member(row_where(row.model.frequencies, [gt](const Frequency& one) { return one.gt == gt; }), Member, 1e-6);
}
template <Reading<Hertz> Frequency::*Member>
Value gt_clock(const query::Row& row) {
  return clock_of_gt<Member>(row, 0);
}
// From Meteor Lake on, GT 1 has the video engines. On a card with several tiles, each with memory of its own, it is the
// second tile.
template <Reading<Hertz> Frequency::*Member>
Value media_clock(const query::Row& row) {
  const auto& regions = row.model.memory;
  const bool has_tiles = regions && std::count_if(regions->begin(), regions->end(), [](const MemoryRegion& region) {
                                      return region.name != "system";
                                    }) > 1;
  if (has_tiles) return Absent{Reason::hardware};
  return clock_of_gt<Member>(row, 1);
}

Value celsius(const query::Row& row, std::string_view sensor) { return scaled(row.model.temperature(sensor)); }

Value fan(const query::Row& row) {
  if (!row.model.fans) return row.model.fans.propagate<Scalar>();
  double most = 0;
  for (const Fan& one : *row.model.fans) most = std::max(most, one.speed.value);
  return Scalar(most);
}

Value throttling(const query::Row& row) {
  if (!row.model.throttling) return row.model.throttling.propagate<Scalar>();
  const std::string text = joined(throttle_reasons(row.model), "+");
  return Scalar(text.empty() ? "none" : text);
}

// PCI Express Base Specification: the rate of a lane by generation.
Value generation(const query::Row& row, Reading<TransfersPerSecond> PcieLink::*speed) {
  if (!row.model.pcie) return row.model.pcie.propagate<Scalar>();
  const Reading<TransfersPerSecond>& rate = (*row.model.pcie).*speed;
  if (!rate) return rate.propagate<Scalar>();
  constexpr std::array kRates{2.5e9, 5e9, 8e9, 16e9, 32e9, 64e9};
  for (std::size_t i = 0; i < kRates.size(); ++i)
    if (std::abs(rate->value - kRates[i]) < 1e8) return Scalar(static_cast<double>(i + 1));
  return Absent{Reason::kernel};
}
Value lanes(const query::Row& row, Reading<Lanes> PcieLink::*width) {
  return row.model.pcie ? scaled((*row.model.pcie).*width) : row.model.pcie.propagate<Scalar>();
}

Value device_id(const query::Row& row) {
  if (row.gpu.device_id == 0) return Absent{Reason::kernel};
  return Scalar(formatted("0x%04x", unsigned{row.gpu.device_id}));
}

constexpr Field kQueryFields[] = {
    {"index", "", "", "", [](const query::Row& row) { return Value(Scalar(static_cast<double>(row.index))); }},
    {"timestamp", "", "", "", [](const query::Row& row) { return Value(Scalar(time_text(row.time))); }},
    {"name", "", "", "", [](const query::Row& row) { return word(row.gpu.name); }},
    {"pci.address", "", "", "", [](const query::Row& row) { return word(row.gpu.address); }},
    {"pci.device_id", "", "", "", device_id},
    {"card", "", "", "", [](const query::Row& row) { return word(row.gpu.card); }},
    {"render_node", "", "", "", [](const query::Row& row) { return word(row.gpu.render_node); }},
    {"driver", "", "", "", [](const query::Row& row) { return word(to_string(row.gpu.driver)); }},
    {"kind", "", "", "", [](const query::Row& row) { return word(to_string(row.gpu.kind)); }},
    {"state", "", "", "gpu.suspended",
     [](const query::Row& row) { return yes_or_no(row.model.suspended, "suspended", "active"); }},

    {"busy.percent", "", "%", "engine.busy", busiest},
    {"engine.render.busy.percent", "", "%", "engine.busy", busy<EngineClass::render>},
    {"engine.copy.busy.percent", "", "%", "engine.busy", busy<EngineClass::copy>},
    {"engine.video.busy.percent", "", "%", "engine.busy", busy<EngineClass::video>},
    {"engine.video_enhance.busy.percent", "", "%", "engine.busy", busy<EngineClass::video_enhance>},
    {"engine.compute.busy.percent", "", "%", "engine.busy", busy<EngineClass::compute>},
    {"engine.media.busy.percent", "", "%", "engine.busy", media},

    {"clocks.gt.mhz", "clock", "MHz", "frequency.actual", gt_clock<&Frequency::actual>},
    {"clocks.gt.requested.mhz", "", "MHz", "frequency.requested", gt_clock<&Frequency::requested>},
    {"clocks.gt.max.mhz", "", "MHz", "frequency.rp0", gt_clock<&Frequency::rp0>},
    {"clocks.media.mhz", "", "MHz", "frequency.actual", media_clock<&Frequency::actual>},
    {"clocks.media.max.mhz", "", "MHz", "frequency.rp0", media_clock<&Frequency::rp0>},
    {"rc6.percent", "", "%", "rc6.ratio",
     [](const query::Row& row) {
       return member(row_where(row.model.rc6, [](const Residency& gt) { return gt.gt == 0; }), &Residency::ratio, 100);
     }},
    {"throttle.reasons", "throttle", "", "throttling.reasons", throttling},

    {"power.draw.watts", "power", "W", "power.mean",
     [](const query::Row& row) { return member(drawn(row), &Power::mean); }},
    {"power.gpu.watts", "", "W", "power.mean",
     [](const query::Row& row) { return member(chip_power(row), &Power::mean); }},
    {"power.package.watts", "", "W", "power.mean",
     [](const query::Row& row) { return member(power_of(row, "package"), &Power::mean); }},
    {"power.limit.watts", "", "W", "power_limit.value", power_limit},
    {"energy.draw.joules", "energy", "J", "power.energy",
     [](const query::Row& row) { return member(drawn(row), &Power::energy); }},
    {"energy.gpu.joules", "", "J", "power.energy",
     [](const query::Row& row) { return member(chip_power(row), &Power::energy); }},

    {"temperature.package.celsius", "temperature", "C", "temperature.value",
     [](const query::Row& row) { return celsius(row, "package"); }},
    {"temperature.vram.celsius", "", "C", "temperature.value",
     [](const query::Row& row) { return celsius(row, "vram"); }},
    {"temperature.mctrl.celsius", "", "C", "temperature.value",
     [](const query::Row& row) { return celsius(row, "mctrl"); }},
    {"temperature.pcie.celsius", "", "C", "temperature.value",
     [](const query::Row& row) { return celsius(row, "pcie"); }},
    {"fan.speed.rpm", "fan", "rpm", "fan.speed", fan},
    {"voltage.package.volts", "voltage", "V", "voltage.value",
     [](const query::Row& row) {
       const auto found = row_where(row.model.voltages, [](const Voltage& one) { return one.domain == "package"; });
       return found.map([](const Voltage* one) { return Scalar(one->value.value); });
     }},

    {"memory.used.bytes", "memory", "B", "memory.used",
     [](const query::Row& row) { return scaled(memory_of(row.model).used); }},
    {"memory.total.bytes", "", "B", "memory.size",
     [](const query::Row& row) { return scaled(memory_of(row.model).size); }},
    {"memory.free.bytes", "", "B", "memory.used",
     [](const query::Row& row) {
       return memory_share(row, [](double used, double size) { return std::max(size - used, 0.0); });
     }},
    {"memory.used.percent", "", "%", "memory.used",
     [](const query::Row& row) {
       return memory_share(row, [](double used, double size) { return size > 0 ? 100 * used / size : 0; });
     }},

    {"pcie.generation", "", "", "pcie.speed", [](const query::Row& row) { return generation(row, &PcieLink::speed); }},
    {"pcie.generation.max", "", "", "pcie.max_speed",
     [](const query::Row& row) { return generation(row, &PcieLink::max_speed); }},
    {"pcie.width", "", "", "pcie.width", [](const query::Row& row) { return lanes(row, &PcieLink::width); }},
    {"pcie.width.max", "", "", "pcie.max_width",
     [](const query::Row& row) { return lanes(row, &PcieLink::max_width); }},
    {"processes", "", "", "gpu.processes", [](const query::Row& row) { return scaled(row.model.process_count); }},
    {"hang.captured", "", "", "gpu.hang_captured",
     [](const query::Row& row) { return yes_or_no(row.model.hang_captured, "yes", "no"); }},
};

int decimals(std::string_view unit) {
  if (unit == "W") return 2;
  if (unit == "V") return 3;
  return unit == "%" || unit == "C" || unit == "J" ? 1 : 0;
}

}  // namespace

std::string_view Field::without_unit() const { return unit.empty() ? name : name.substr(0, name.rfind('.')); }

std::span<const Field> fields() { return kQueryFields; }

const Field* find_field(std::string_view name) {
  using Is = bool (*)(const Field&, std::string_view);
  constexpr Is kWays[] = {[](const Field& field, std::string_view wanted) { return field.name == wanted; },
                          [](const Field& field, std::string_view wanted) { return field.without_unit() == wanted; },
                          [](const Field& field, std::string_view wanted) { return field.alias == wanted; }};
  if (name.empty()) return nullptr;
  for (const Is is : kWays)
    for (const Field& field : kQueryFields)
      if (is(field, name)) return &field;
  return nullptr;
}

const Field& required_field(std::string_view name) {
  if (const Field* const field = find_field(name)) return *field;
  std::vector<std::string> names;
  for (const Field& field : kQueryFields)
    for (const std::string_view one : {field.name, field.without_unit(), field.alias})
      if (!one.empty()) names.emplace_back(one);
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
  const double factor = std::pow(10, decimals(field.unit));
  return std::round(value * factor) / factor + 0.0;  // no negative zero
}

std::string text_of(const Field& field, const Scalar& value) {
  if (const std::string* const text = std::get_if<std::string>(&value)) return *text;
  std::string out;
  append_number(out, rounded(field, std::get<double>(value)));
  return out;
}

}  // namespace igpu::exporter::query
