// SPDX-License-Identifier: Apache-2.0
#include "collector/hwmon.h"

#include "metric/feature_report.h"

namespace igpu {
namespace {

constexpr Metric<Celsius, 2> kTemperature{"intel_gpu_temperature_celsius", Kind::gauge,
                                          "Temperature by sensor; for an integrated GPU the CPU package's.", {"device", "sensor"}};
constexpr Metric<Rpm, 2> kFan{"intel_gpu_fan_speed_rpm", Kind::gauge, "Fan speed; 0 while it stands still.", {"device", "fan"}};
constexpr Metric<Volts, 2> kVoltage{"intel_gpu_voltage_volts", Kind::gauge, "Voltage.", {"device", "domain"}};
constexpr Metric<Watts, 3> kPowerLimit{"intel_gpu_power_limit_watts", Kind::gauge,
                                       "Power limits: max (sustained), cap (short), rated_max (as built), crit (peak); absent while not set.",
                                       {"device", "domain", "limit"}};
constexpr Metric<Amperes, 2> kCurrentLimit{"intel_gpu_current_limit_amperes", Kind::gauge, "Peak current limit.", {"device", "domain"}};

constexpr FeatureDescriptor kTemperatureFeature{"temperature", "Temperatures."};
constexpr FeatureDescriptor kFanFeature{"fan", "Fan speed."};
constexpr FeatureDescriptor kVoltageFeature{"voltage", "Voltage."};
constexpr FeatureDescriptor kLimitFeature{"power_limits", "Power and current limits."};

constexpr const MetricDescriptor* kMetrics[] = {&kTemperature, &kFan, &kVoltage, &kPowerLimit, &kCurrentLimit};
constexpr const FeatureDescriptor* kFeatures[] = {&kTemperatureFeature, &kFanFeature, &kVoltageFeature, &kLimitFeature};

}  // namespace

constexpr CollectorInfo HwmonCollector::kInfo{.name = "hwmon",
                                              .help = "Temperature, fan, voltage, power and current limits.",
                                              .metrics = kMetrics,
                                              .features = kFeatures};

std::unique_ptr<Collector> HwmonCollector::create(const CollectorContext& context) {
  return std::make_unique<HwmonCollector>(context);
}

HwmonCollector::HwmonCollector(const CollectorContext& context)
    : gpu_(context.gpu),
      hwmon_(context.gpu.kind == GpuKind::integrated ? Hwmon::of_cpu_package(context.machine.sys)
                                                     : Hwmon::of_gpu(context.machine.sys, context.gpu)) {}

void HwmonCollector::collect(ScrapePass&, SampleSink& out) {
  // A card without the file: its kernel does not offer it. An integrated GPU has none of its own.
  const Absent none{gpu_.kind == GpuKind::integrated ? Reason::hardware : Reason::kernel};
  FeatureReport temperature(out, kTemperatureFeature, {Reason::kernel});
  for (Hwmon::Channel& channel : hwmon_.temperatures)
    if (const auto value = Hwmon::celsius(channel.attribute); temperature.note(value))
      out.add(kTemperature, {gpu_.address, channel.name}, *value);
  FeatureReport fan(out, kFanFeature, none);
  for (Hwmon::Channel& channel : hwmon_.fans)
    if (const auto value = Hwmon::rpm(channel.attribute); fan.note(value)) out.add(kFan, {gpu_.address, channel.index}, *value);
  FeatureReport voltage(out, kVoltageFeature, none);
  for (Hwmon::Channel& channel : hwmon_.voltages)
    if (const auto value = Hwmon::volts(channel.attribute); voltage.note(value))
      out.add(kVoltage, {gpu_.address, channel.name}, *value);
  FeatureReport limits(out, kLimitFeature, none);
  for (Hwmon::Limit& limit : hwmon_.power_limits)
    if (const auto value = Hwmon::watts(limit.channel.attribute); limits.note(value))
      out.add(kPowerLimit, {gpu_.address, limit.channel.name, limit.limit}, *value);
  for (Hwmon::Channel& channel : hwmon_.current_limits)
    if (const auto value = Hwmon::amperes(channel.attribute); limits.note(value))
      out.add(kCurrentLimit, {gpu_.address, channel.name}, *value);
}

}  // namespace igpu
