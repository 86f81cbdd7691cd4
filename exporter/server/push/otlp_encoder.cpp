// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>

#include "server/push/otlp.h"
#include "view/format/proto.h"

namespace igpu::exporter {
namespace {

using enum Instrument;

constexpr std::uint64_t kCumulative = 2;  // AGGREGATION_TEMPORALITY_CUMULATIVE

void add_attribute(ProtoWriter& writer, std::uint32_t field, std::string_view key, std::string_view value) {
  writer.message(field, [&] {
    writer.text(1, key);
    writer.message(2, [&] { writer.text(1, value); });
  });
}

Instrument instrument_of(Kind kind) {
  switch (kind) {
    case Kind::counter: return Instrument::counter;
    case Kind::histogram: return Instrument::histogram;
    case Kind::gauge:
    case Kind::info: break;
  }
  return Instrument::gauge;
}

constexpr ConventionAttribute kGpu{"hw.type", "gpu"};
constexpr ConventionAttribute kCpu{"hw.type", "cpu"};
constexpr ConventionAttribute kMemory{"hw.type", "memory"};
constexpr ConventionAttribute kGeneral{"hw.gpu.task", "general"};

// Sorted by our name. Of several rows of a metric, the first that fits applies.
constexpr std::array kConventions{
    Convention{"intel_gpu_energy_joules_total", "source", "hwmon", "hw.energy", "J", counter, {kGpu}},
    Convention{"intel_gpu_energy_joules_total", "domain", "gpu", "hw.energy", "J", counter, {kGpu}},
    Convention{"intel_gpu_energy_joules_total", "domain", "package", "hw.energy", "J", counter, {kCpu}},
    Convention{"intel_gpu_energy_joules_total", "domain", "cores", "hw.energy", "J", counter, {kCpu}},
    Convention{"intel_gpu_energy_joules_total", "domain", "dram", "hw.energy", "J", counter, {kMemory}},
    Convention{"intel_gpu_energy_joules_total", "domain", "psys", "hw.host.energy", "J", counter},
    // A video engine decodes and encodes, so it has no task of the conventions.
    Convention{"intel_gpu_engine_busy_ratio", "class", "compute", "hw.gpu.utilization", "1", gauge, {kGeneral}},
    Convention{"intel_gpu_engine_busy_ratio", "class", "render", "hw.gpu.utilization", "1", gauge, {kGeneral}},
    Convention{"intel_gpu_engine_busy_ratio", "", "", "hw.gpu.utilization", "1", gauge},
    Convention{"intel_gpu_fan_speed_rpm", "", "", "hw.fan.speed", "rpm", gauge, {}, "fan", "hw.sensor_location"},
    Convention{"intel_gpu_memory_size_bytes", "", "", "hw.gpu.memory.limit", "By", updown_counter},
    Convention{"intel_gpu_memory_used_bytes", "", "", "hw.gpu.memory.usage", "By", updown_counter},
    Convention{"intel_gpu_pcie_errors_total",
               "severity",
               "correctable",
               "hw.errors",
               "{error}",
               counter,
               {kGpu, {"error.type", "corrected"}}},
    Convention{
        "intel_gpu_pcie_errors_total", "", "", "hw.errors", "{error}", counter, {kGpu, {"error.type", "uncorrected"}}},
    Convention{"intel_gpu_power_watts", "source", "hwmon", "hw.power", "W", gauge, {kGpu}},
    Convention{"intel_gpu_power_watts", "domain", "gpu", "hw.power", "W", gauge, {kGpu}},
    Convention{"intel_gpu_power_watts", "domain", "package", "hw.power", "W", gauge, {kCpu}},
    Convention{"intel_gpu_power_watts", "domain", "cores", "hw.power", "W", gauge, {kCpu}},
    Convention{"intel_gpu_power_watts", "domain", "dram", "hw.power", "W", gauge, {kMemory}},
    Convention{"intel_gpu_power_watts", "domain", "psys", "hw.host.power", "W", gauge},
    Convention{
        "intel_gpu_temperature_celsius", "", "", "hw.temperature", "Cel", gauge, {}, "sensor", "hw.sensor_location"},
    Convention{"intel_gpu_voltage_volts", "", "", "hw.voltage", "V", gauge, {}, "domain", "hw.sensor_location"},
};

static_assert(std::ranges::is_sorted(kConventions, {}, &Convention::metric));

}  // namespace

OtlpEncoder::Output& OtlpEncoder::output_of(std::string_view name, std::string_view help, std::string_view unit,
                                            Instrument instrument) {
  // The last one, most of the time.
  const auto at =
      std::find_if(outputs_.rbegin(), outputs_.rend(), [&](const Output& output) { return output.name == name; });
  return at != outputs_.rend() ? *at : outputs_.emplace_back(Output{name, help, unit, instrument, {}});
}

std::uint64_t OtlpEncoder::start_of(std::string series, double value, std::uint64_t now, bool resets) {
  const auto [at, added] = series_.try_emplace(std::move(series), Series{now, now, value, readings_});
  Series& known = at->second;
  if (!added && resets && value < known.value) known.start = known.last;
  known.start = std::min(known.start, now);  // the clock may have been set back
  known.last = now;
  known.value = value;
  known.reading = readings_;
  return known.start;
}

void OtlpEncoder::add_point(const PageView::Entry& entry, const MetricDescriptor& metric, std::uint64_t now) {
  const LabelValue value_of = [&](std::string_view label) -> std::string_view {
    for (std::size_t i = 0; i < metric.label_count; ++i)
      if (metric.label_names[i] == label) return entry.list->label_value(*entry.sample, i);
    return {};
  };
  const Convention* const convention = convention_of(metric.name, value_of);
  const Instrument instrument = convention != nullptr ? convention->instrument : instrument_of(metric.kind);
  constexpr std::uint32_t kOfNumber = 7, kOfHistogram = 9;
  const std::uint32_t field = instrument == Instrument::histogram ? kOfHistogram : kOfNumber;
  attributes_.clear();
  write_proto(attributes_, [&](ProtoWriter& writer) {
    for (std::size_t i = 0; i < metric.label_count; ++i) {
      const std::string_view value = entry.list->label_value(*entry.sample, i);
      if (value.empty()) continue;
      std::string_view name = metric.label_names[i];
      if (convention != nullptr && name == "device") name = "hw.id";
      if (convention != nullptr && name == convention->renamed) name = convention->attribute;
      add_attribute(writer, field, name, value);
    }
    if (convention != nullptr) {
      for (const ConventionAttribute& more : convention->attributes)
        if (!more.name.empty()) add_attribute(writer, field, more.name, more.value);
    }
  });
  Output& output = convention != nullptr ? output_of(convention->name, metric.help, convention->unit, instrument)
                                         : output_of(metric.name, metric.help, ucum_unit(metric), instrument);
  const auto add = [&](const auto& fill) {
    write_proto(output.points, [&](ProtoWriter& point) {
      point.message(1, [&] {
        fill(point);
        point.fields(attributes_);
      });
    });
  };
  if (instrument == Instrument::histogram) {
    const std::span<const std::uint64_t> counts = entry.list->bucket_counts(*entry.sample);
    const std::uint64_t count = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
    const std::uint64_t start = start_of(std::string(output.name) + attributes_, static_cast<double>(count), now, true);
    add([&](ProtoWriter& point) {
      point.fixed64(2, start);
      point.fixed64(3, now);
      point.fixed64(4, count);
      point.real(5, entry.sample->value);
      point.packed(6, counts);
      point.packed(7, metric.bounds);
    });
    return;
  }
  std::uint64_t start = 0;
  if (instrument != Instrument::gauge) {
    start =
        start_of(std::string(output.name) + attributes_, entry.sample->value, now, instrument == Instrument::counter);
  }
  add([&](ProtoWriter& point) {
    if (start != 0) point.fixed64(2, start);
    point.fixed64(3, now);
    point.real(4, entry.sample->value);
  });
}

std::uint64_t OtlpEncoder::encode(const PageView& page, std::chrono::system_clock::time_point time, std::string& out) {
  const auto nanoseconds = std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
  const std::uint64_t now = nanoseconds > 0 ? static_cast<std::uint64_t>(nanoseconds) : 1;
  ++readings_;
  outputs_.clear();
  std::uint64_t points = 0;
  for (const PageView::Family& family : page.families()) {
    for (const PageView::Entry& entry : family.entries) {
      add_point(entry, *family.metric, now);
      ++points;
    }
  }
  std::erase_if(series_, [&](const auto& series) { return series.second.reading != readings_; });
  out.clear();
  if (points == 0) return 0;
  write_proto(out, [&](ProtoWriter& writer) {
    writer.message(1, [&] {
      writer.message(1, [&] {
        for (const auto& [key, value] : resource_) add_attribute(writer, 1, key, value);
      });
      writer.message(2, [&] {
        writer.message(1, [&] {
          writer.text(1, scope_);
          writer.text(2, version_);
        });
        for (const Output& output : outputs_) {
          writer.message(2, [&] {
            writer.text(1, output.name);
            writer.text(2, output.help);
            if (!output.unit.empty()) writer.text(3, output.unit);
            constexpr std::uint32_t kGauge = 5, kSum = 7, kHistogram = 9;
            const bool sum =
                output.instrument == Instrument::counter || output.instrument == Instrument::updown_counter;
            writer.message(sum                                          ? kSum
                           : output.instrument == Instrument::histogram ? kHistogram
                                                                        : kGauge,
                           [&] {
                             writer.fields(output.points);
                             if (output.instrument != Instrument::gauge) writer.number(2, kCumulative);
                             if (output.instrument == Instrument::counter) writer.number(3, 1);
                           });
          });
        }
      });
    });
  });
  return points;
}

const Convention* convention_of(std::string_view metric, const LabelValue& value_of) {
  const auto* row = std::ranges::lower_bound(kConventions, metric, {}, &Convention::metric);
  for (; row != kConventions.end() && row->metric == metric; ++row) {
    if (row->label.empty() || value_of(row->label) == row->value) return row;
  }
  return nullptr;
}

std::string_view ucum_unit(const MetricDescriptor& metric) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 15> kUnits{
      {{"seconds", "s"},
       {"bytes", "By"},
       {"bytes_per_second", "By/s"},
       {"hertz", "Hz"},
       {"joules", "J"},
       {"watts", "W"},
       {"celsius", "Cel"},
       {"volts", "V"},
       {"amperes", "A"},
       {"ratio", "1"},
       {"rpm", "rpm"},
       {"cycles", "{cycle}"},
       {"ticks", "{tick}"},
       {"lanes", "{lane}"},
       {"transfers_per_second", "{transfer}/s"}}};
  for (const auto& [ours, ucum] : kUnits)
    if (ours == metric.unit) return ucum;
  return "";
}

}  // namespace igpu::exporter
