// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cerrno>
#include <optional>

#include "base/counter_window.h"
#include "base/scan_schedule.h"
#include "collector/collector.h"
#include "kernel/sysfs/hwmon_files.h"
#include "kernel/windows/wddm.h"

namespace igpu {
namespace {

constexpr GaugeMetric<Celsius, 2> kHwmonTemperature{
    "intel_gpu_temperature_celsius",
    "Temperature by sensor; for an integrated GPU, that of the CPU package.",
    {"device", "sensor"}};
constexpr GaugeMetric<Celsius, 3> kTemperatureLimit{
    "intel_gpu_temperature_limit_celsius",
    "Temperature limits: crit (the hardware throttles or warns), emergency (it shuts down).",
    {"device", "sensor", "limit"}};
constexpr GaugeMetric<Rpm, 2> kFan{
    "intel_gpu_fan_speed_rpm", "Fan speed; 0 while the fan is stopped.", {"device", "fan"}};
constexpr GaugeMetric<Volts, 2> kVoltage{"intel_gpu_voltage_volts", "Voltage.", {"device", "domain"}};
constexpr GaugeMetric<Watts, 3> kPowerLimit{
    "intel_gpu_power_limit_watts",
    "Power limits: max (sustained), cap (short-term), rated_max (factory default), crit (peak); absent while not set.",
    {"device", "domain", "limit"}};
constexpr GaugeMetric<Ratio, 1> kPowerShare{
    "intel_gpu_power_limit_ratio", "Power as a share of the limit; Windows does not report watts.", {"device"}};
constexpr GaugeMetric<Amperes, 2> kCurrentLimit{
    "intel_gpu_current_limit_amperes", "Peak current limit.", {"device", "domain"}};

constexpr std::array<KernelAbsence, 4> kNoTemperature{{
    {kEither, GpuKind::integrated, "no driver shows the CPU package's temperature: coretemp is not loaded",
     "the module coretemp; a virtual machine has no such sensor", 0, "sudo modprobe coretemp"},
    {Driver::i915, GpuKind::discrete, "this kernel's i915 driver has no temperature of the card in hwmon",
     "Linux 6.14 or newer, with CONFIG_HWMON (it came with 6.12 to 6.14)"},
    {Driver::xe, GpuKind::discrete, "this kernel's xe driver has no temperature of the card in hwmon",
     "Linux 6.17 or newer, with CONFIG_HWMON (it came with 6.15 to 6.17)"},
    {Driver::wddm, kEither, "the graphics driver does not report its temperature",
     "a driver for WDDM 2.4 or newer (Windows 10 1803); it may also answer without a value"},
}};
constexpr std::array<KernelAbsence, 4> kNoTemperatureLimits{{
    kNoTemperature[0],
    {Driver::i915, GpuKind::discrete, "the i915 driver has no limits of temperatures, in any version", ""},
    {Driver::xe, GpuKind::discrete, "this kernel's xe driver has no limits of temperatures in hwmon",
     "Linux 7.0 or newer, with CONFIG_HWMON, if the card states them"},
    {Driver::wddm, kEither, "Windows does not report temperature limits", ""},
}};
constexpr std::array<KernelAbsence, 3> kNoFan{{
    {Driver::i915, GpuKind::discrete, "this kernel's i915 driver has no fans of the card in hwmon",
     "Linux 6.12 or newer, with CONFIG_HWMON, if the card has a fan"},
    {Driver::xe, GpuKind::discrete, "this kernel's xe driver has no fans of the card in hwmon",
     "Linux 6.17 or newer, with CONFIG_HWMON (it came with 6.15 to 6.17), if the card has a fan"},
    {Driver::wddm, kEither, "the graphics driver reports no fan",
     "a driver for WDDM 2.4 or newer (Windows 10 1803); it may also answer without a value"},
}};
constexpr std::array<KernelAbsence, 3> kNoVoltage{{
    {Driver::i915, GpuKind::discrete, "this kernel's i915 driver has no hwmon",
     "Linux 6.2 or newer, with CONFIG_HWMON"},
    {Driver::xe, GpuKind::discrete, "this kernel's xe driver has no hwmon", "Linux 6.8 or newer, with CONFIG_HWMON"},
    {Driver::wddm, kEither, "Windows does not report a GPU voltage", ""},
}};
constexpr std::array<KernelAbsence, 3> kNoLimits{{
    kNoVoltage[0],
    kNoVoltage[1],
    {Driver::wddm, kEither, "Windows does not report power limits in watts", ""},
}};
constexpr FeatureDescriptor kTemperatureFeature{"temperature", "Temperatures.", Need::nothing_special, false,
                                                kNoTemperature};
constexpr FeatureDescriptor kTemperatureLimitFeature{
    "temperature_limits", "Limits of the temperatures.", Need::nothing_special, false, kNoTemperatureLimits, true};
constexpr FeatureDescriptor kFanFeature{"fan", "Fan speed.", Need::nothing_special, false, kNoFan};
constexpr FeatureDescriptor kAdapterTemperature{kTemperatureFeature.name, kTemperatureFeature.meaning,
                                                Need::windows_rights, false, kNoTemperature};
constexpr FeatureDescriptor kAdapterFan{kFanFeature.name, kFanFeature.meaning, Need::windows_rights, false, kNoFan};
constexpr std::array<KernelAbsence, 1> kNoPowerShare{{
    {Driver::wddm, kEither, "the graphics driver does not report its power",
     "a driver for WDDM 2.4 or newer (Windows 10 1803); it may also answer without a value"},
}};
constexpr FeatureDescriptor kPowerShareFeature{"power_share", "Power as a share of the limit (Windows).",
                                               Need::windows_rights, false, kNoPowerShare};
constexpr FeatureDescriptor kVoltageFeature{"voltage", "Voltage.", Need::nothing_special, false, kNoVoltage};
constexpr FeatureDescriptor kLimitFeature{"power_limits", "Power and current limits.", Need::nothing_special, false,
                                          kNoLimits};

// Temperatures, fans, voltages and limits: of the card itself, or the CPU package's temperature for an integrated GPU.
class HwmonCollector final : public Collector {
 public:
  static constexpr CollectorInfo kInfo{
      .name = "hwmon",
      .help = "Temperature, fan, voltage, power and current limits.",
      .metrics = kListOf<MetricDescriptor, kHwmonTemperature, kTemperatureLimit, kFan, kVoltage, kPowerLimit,
                         kCurrentLimit, kPowerShare>,
      .in_windows = kListOf<MetricDescriptor, kHwmonTemperature, kFan, kPowerShare>,
      .not_in_linux = kListOf<MetricDescriptor, kPowerShare>,
      .features = kListOf<FeatureDescriptor, kTemperatureFeature, kTemperatureLimitFeature, kFanFeature,
                          kVoltageFeature, kLimitFeature, kPowerShareFeature>,
      .notes =
          "Under xe a DG2 always has two fans: on a card with one, the second stays 0. Under Windows: temperature, "
          "with sensor \"gpu\", fan speed, and `intel_gpu_power_limit_ratio`, which exists only there."};
  explicit HwmonCollector(const CollectorContext& context) : sys_(context.machine.sys), gpu_(context.gpu) {
    if (gpu_.driver == Driver::wddm) adapter_.emplace(context.machine, context.gpu);
  }

  void collect(ScrapePass&, SampleSink& out) override {
    if (adapter_) return collect_adapter(out);
    const bool card = gpu_.kind == GpuKind::discrete;
    if (scans_.due(hwmon_.found) || hwmon_.unreadable)
      hwmon_ = card ? Hwmon::of_gpu(sys_, gpu_) : stands_for_package(gpu_) ? Hwmon::of_cpu_package(sys_) : Hwmon();
    // Integrated GPUs have the package's temperature only, virtual functions nothing.
    const Absent not_in_hardware{Reason::hardware};
    const Absent not_in_kernel = gpu_.virtual_function ? not_in_hardware : Absent{Reason::kernel, ENOENT};
    // Every card has a temperature, every CPU package too: its module is not loaded, or this kernel's driver has no
    // file for it.
    const bool no_file = card ? hwmon_.temperatures.empty() : !hwmon_.found;
    FeatureReport temperature(out, kTemperatureFeature, no_file ? not_in_kernel : not_in_hardware);
    if (hwmon_.unreadable) (void)temperature.note(Reading<Unit>(*hwmon_.unreadable));
    for (Hwmon::Channel& channel : hwmon_.temperatures)
      temperature.add(kHwmonTemperature, {gpu_.address, channel.name}, Hwmon::celsius(channel.attribute));
    // Both drivers had temperatures before they had limits of them; coretemp has both.
    const bool no_limit_file = card && hwmon_.temperature_limits.empty();
    FeatureReport temperature_limits(out, kTemperatureLimitFeature,
                                     no_file || no_limit_file ? not_in_kernel : not_in_hardware);
    for (Hwmon::Limit& limit : hwmon_.temperature_limits)
      temperature_limits.add(kTemperatureLimit, {gpu_.address, limit.channel.name, limit.limit},
                             Hwmon::celsius_limit(limit.channel.attribute));
    // Both drivers added fans at about the same time as temperatures: if only one of the two is missing, the card lacks
    // it.
    FeatureReport fan(out, kFanFeature, card && hwmon_.temperatures.empty() ? not_in_kernel : not_in_hardware);
    for (Hwmon::Channel& channel : hwmon_.fans)
      if (const auto value = Hwmon::rpm(channel.attribute); fan.note(value) && *value)
        out.add(kFan, {gpu_.address, channel.index}, **value);
    // The first version of hwmon already had these: if they are missing, the card lacks them.
    const Absent none = card && !hwmon_.found ? not_in_kernel : not_in_hardware;
    FeatureReport voltage(out, kVoltageFeature, none);
    for (Hwmon::Channel& channel : hwmon_.voltages)
      voltage.add(kVoltage, {gpu_.address, channel.name}, Hwmon::volts(channel.attribute));
    FeatureReport limits(out, kLimitFeature, none);
    for (Hwmon::Limit& limit : hwmon_.power_limits)
      limits.add(kPowerLimit, {gpu_.address, limit.channel.name, limit.limit}, Hwmon::watts(limit.channel.attribute));
    for (Hwmon::Channel& channel : hwmon_.current_limits)
      limits.add(kCurrentLimit, {gpu_.address, channel.name}, Hwmon::amperes(channel.attribute));
  }

 private:
  void collect_adapter(SampleSink& out) {
    const WddmSensors sensors = adapter_->sensors();
    FeatureReport temperature(out, kAdapterTemperature);
    if (temperature.note(sensors.temperature)) out.add(kHwmonTemperature, {gpu_.address, "gpu"}, *sensors.temperature);
    FeatureReport fan(out, kAdapterFan);
    if (fan.note(sensors.fan)) out.add(kFan, {gpu_.address, "1"}, *sensors.fan);
    FeatureReport power(out, kPowerShareFeature);
    if (power.note(sensors.power)) out.add(kPowerShare, {gpu_.address}, clamped_ratio(sensors.power->value, 1));
    for (const FeatureDescriptor* const feature : {&kTemperatureLimitFeature, &kVoltageFeature, &kLimitFeature})
      out.absent(*feature, {Reason::kernel});
  }

  const Directory& sys_;
  const Gpu& gpu_;
  ScanSchedule scans_;
  Hwmon hwmon_;
  std::optional<WddmGpu> adapter_;  // under Windows, in place of the members above
};

}  // namespace

CollectorEntry hwmon_collector() { return entry<HwmonCollector>(); }

}  // namespace igpu
