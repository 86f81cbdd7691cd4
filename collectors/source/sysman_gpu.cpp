// SPDX-License-Identifier: Apache-2.0
#include "source/sysman_gpu.h"

#include <algorithm>
#include <array>
#include <cerrno>

#include "machine/gpu_adapters.h"

namespace igpu {
namespace {

constexpr Absent kNotToldBySysman{Reason::kernel, 0};
constexpr double kMostCelsius = 200;
constexpr std::int32_t kMostFanRpm = 100'000;
constexpr std::uint64_t kMostMicrojoules = 1'000'000'000'000'000'000;  // a kilowatt for thirty years

Failure impossible_value(std::string_view what) {
  return {std::make_error_code(std::errc::result_out_of_range), "Sysman: " + std::string(what)};
}

// zes_power_domain_t: card, package, and since specification 1.9 memory and GPU. What says nothing is the GPU's.
std::string_view domain_of(std::uint32_t domain) {
  constexpr std::array<std::string_view, 6> kNames{"gpu", "card", "package", "stack", "memory", "gpu"};
  return domain < kNames.size() ? kNames[domain] : kNames[0];
}

Reading<Celsius> celsius_of(const Reading<double>& celsius) {
  if (!celsius) return celsius.propagate<Celsius>();
  if (*celsius == 0) return kNotToldBySysman;
  if (!(*celsius > 0 && *celsius <= kMostCelsius)) return impossible_value("temperature");
  return Celsius{*celsius};
}

Reading<Rpm> rpm_of(const Reading<std::int32_t>& rpm) {
  if (!rpm) return rpm.propagate<Rpm>();
  if (*rpm == -1) return kNotToldBySysman;
  if (*rpm < 0 || *rpm > kMostFanRpm) return impossible_value("fan speed");
  return Rpm{static_cast<double>(*rpm)};
}

}  // namespace

Reading<SysmanDevice*> SysmanGpu::device() {
  if (!enabled_) return kSysmanIsOff;
  if (!device_) {
    Sysman* const source = machine_.adapters == nullptr ? nullptr : machine_.adapters->sysman();
    if (source == nullptr) return Absent{Reason::kernel, ENOENT};
    auto found = source->device(address_);
    if (!found) return found.propagate<SysmanDevice*>();
    device_ = *std::move(found);
  }
  return device_.get();
}

Reading<std::vector<SysmanGpu::Energy>> SysmanGpu::energies() {
  const auto device = this->device();
  const auto told = device ? (*device)->energies() : device.propagate<std::vector<SysmanEnergy>>();
  if (!told) return told.propagate<std::vector<Energy>>();
  std::vector<Energy> energies;
  for (const SysmanEnergy& energy : *told) {
    const std::string_view domain = domain_of(energy.domain);
    if (std::ranges::find(energies, domain, &Energy::domain) != energies.end()) continue;
    const bool is_possible = !energy.microjoules || *energy.microjoules <= kMostMicrojoules;
    energies.push_back({domain, is_possible ? energy.microjoules : impossible_value("energy")});
  }
  return energies;
}

// Sensors 0 and 1 are the highest temperatures of the device and of the GPU, 2 that of its memory.
Reading<std::vector<SysmanGpu::Temperature>> SysmanGpu::temperatures() {
  const auto device = this->device();
  const auto told = device ? (*device)->temperatures() : device.propagate<std::vector<SysmanTemperature>>();
  if (!told) return told.propagate<std::vector<Temperature>>();
  std::vector<Temperature> found;
  const auto take = [&](std::uint32_t sensor, std::string_view name) {
    const auto at = std::ranges::find(*told, sensor, &SysmanTemperature::sensor);
    if (at != told->end()) found.push_back({name, celsius_of(at->celsius)});
    return at != told->end();
  };
  if (!take(1, "gpu")) take(0, "gpu");
  take(2, "vram");
  return found;
}

Reading<std::vector<Reading<Rpm>>> SysmanGpu::fans() {
  const auto device = this->device();
  const auto told = device ? (*device)->fans() : device.propagate<std::vector<Reading<std::int32_t>>>();
  if (!told) return told.propagate<std::vector<Reading<Rpm>>>();
  std::vector<Reading<Rpm>> fans;
  for (const Reading<std::int32_t>& rpm : *told) fans.push_back(rpm_of(rpm));
  return fans;
}

Reading<SysmanBytes> SysmanGpu::traffic() {
  const auto device = this->device();
  const auto told = device ? (*device)->memories() : device.propagate<std::vector<Reading<SysmanBytes>>>();
  if (!told) return told.propagate<SysmanBytes>();
  SysmanBytes sum;
  for (const Reading<SysmanBytes>& module : *told) {
    if (!module) return module;  // without it the sum would step back
    if (module->read > UINT64_MAX - sum.read || module->written > UINT64_MAX - sum.written)
      return impossible_value("memory traffic");
    sum.read += module->read;
    sum.written += module->written;
  }
  // Every GPU uses its memory: some drivers answer, and do not count.
  if (sum.read == 0 && sum.written == 0) return kNotToldBySysman;
  return sum;
}

}  // namespace igpu
