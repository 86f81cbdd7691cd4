// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <span>
#include <utility>

#include "server/push/otlp_encoder.h"

namespace igpu::exporter {
namespace {

using enum Instrument;

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
