// SPDX-License-Identifier: Apache-2.0
//
// The functions of a ze_loader.dll, in the same library and from the same script as fake_gdi32.cpp.
#include <windows.h>

#include <cstdint>
#include <vector>

#include "machine/ze_result.h"
#include "machine/zes_windows.h"
#include "windows/fake_state.h"

namespace {

using namespace igpu;
using namespace igpu::test;

// A handle is a number: which part of which adapter. The driver's is 1.
constexpr std::uintptr_t kDriver = 1, kFirstDevice = 0x100;

zes::Handle handle(std::size_t adapter, std::size_t part) {
  return reinterpret_cast<zes::Handle>(kFirstDevice * (adapter + 1) + part);
}
const ScriptAdapter& adapter_of(zes::Handle it) {
  return fake().adapters.at(reinterpret_cast<std::uintptr_t>(it) / kFirstDevice - 1);
}
std::size_t part_of(zes::Handle it) { return reinterpret_cast<std::uintptr_t>(it) % kFirstDevice - 1; }

std::uint32_t value(ZeResult result) { return static_cast<std::uint32_t>(result); }

std::uint32_t list(const std::vector<zes::Handle>& all, std::uint32_t* count, zes::Handle* array) {
  if (array != nullptr)
    for (std::size_t i = 0; i < all.size() && i < *count; ++i) array[i] = all[i];
  *count = static_cast<std::uint32_t>(all.size());
  return value(ZeResult::success);
}

// count: of parts of one kind.
std::uint32_t parts(zes::Handle device, std::size_t size, std::uint32_t* count, zes::Handle* array) {
  const std::size_t adapter = reinterpret_cast<std::uintptr_t>(device) / kFirstDevice - 1;
  std::vector<zes::Handle> all;
  for (std::size_t i = 0; i < size; ++i) all.push_back(handle(adapter, i + 1));
  return list(all, count, array);
}

std::uint32_t outcome(zes::Handle it, AdapterQuery query) { return value(adapter_of(it).result(query)); }

}  // namespace

extern "C" {

__declspec(dllexport) std::uint32_t zesInit(std::uint32_t) {
  for (const ScriptAdapter& adapter : fake().adapters)
    if (adapter.result(AdapterQuery::sysman) != ZeResult::success) return value(adapter.result(AdapterQuery::sysman));
  return value(ZeResult::success);
}

__declspec(dllexport) std::uint32_t zesDriverGet(std::uint32_t* count, zes::Handle* drivers) {
  return list({reinterpret_cast<zes::Handle>(kDriver)}, count, drivers);
}

__declspec(dllexport) std::uint32_t zesDeviceGet(zes::Handle, std::uint32_t* count, zes::Handle* devices) {
  std::vector<zes::Handle> all;
  for (std::size_t i = 0; i < fake().adapters.size(); ++i)
    if (fake().adapters[i].has_sysman()) all.push_back(handle(i, 0));
  return list(all, count, devices);
}

__declspec(dllexport) std::uint32_t zesDevicePciGetProperties(zes::Handle device, zes::PciProperties* to) {
  const AdapterFacts& facts = adapter_of(device).facts;
  if (to->structure != zes::kPciProperties) return 0x78000004;
  to->domain = 0;
  to->bus = facts.bus;
  to->device = facts.slot;
  to->function = facts.function;
  return value(ZeResult::success);
}

__declspec(dllexport) std::uint32_t
    zesDeviceEnumPowerDomains(zes::Handle device, std::uint32_t* count, zes::Handle* array) {
  return parts(device, adapter_of(device).energies.size(), count, array);
}
__declspec(dllexport) std::uint32_t zesPowerGetProperties(zes::Handle part, zes::PowerProperties* to) {
  auto* const ext = static_cast<zes::PowerExtProperties*>(to->next);
  if (to->structure != zes::kPowerProperties || ext->structure != zes::kPowerExtProperties ||
      ext->default_limit->structure != zes::kPowerLimit)
    return 0x78000004;
  ext->domain = adapter_of(part).energies.at(part_of(part)).domain;
  ext->default_limit->limit = 225'000;
  return value(ZeResult::success);
}
__declspec(dllexport) std::uint32_t zesPowerGetEnergyCounter(zes::Handle part, zes::EnergyCounter* to) {
  *to = {adapter_of(part).energies.at(part_of(part)).milliwatts * fake().milliseconds, fake().milliseconds * 1000};
  return outcome(part, AdapterQuery::energy);
}

__declspec(dllexport) std::uint32_t
    zesDeviceEnumTemperatureSensors(zes::Handle device, std::uint32_t* count, zes::Handle* array) {
  return parts(device, adapter_of(device).celsius.size(), count, array);
}
__declspec(dllexport) std::uint32_t zesTemperatureGetProperties(zes::Handle part, zes::TemperatureProperties* to) {
  if (to->structure != zes::kTemperatureProperties) return 0x78000004;
  to->sensor = adapter_of(part).celsius.at(part_of(part)).first;
  return value(ZeResult::success);
}
__declspec(dllexport) std::uint32_t zesTemperatureGetState(zes::Handle part, double* celsius) {
  *celsius = adapter_of(part).celsius.at(part_of(part)).second;
  return outcome(part, AdapterQuery::celsius);
}

__declspec(dllexport) std::uint32_t zesDeviceEnumFans(zes::Handle device, std::uint32_t* count, zes::Handle* array) {
  return parts(device, adapter_of(device).fans.size(), count, array);
}
__declspec(dllexport) std::uint32_t zesFanGetState(zes::Handle part, std::uint32_t units, std::int32_t* speed) {
  if (units != zes::kRpm) return value(ZeResult::unsupported_feature);
  *speed = adapter_of(part).fans.at(part_of(part));
  return outcome(part, AdapterQuery::turning);
}

__declspec(dllexport) std::uint32_t
    zesDeviceEnumMemoryModules(zes::Handle device, std::uint32_t* count, zes::Handle* array) {
  return parts(device, adapter_of(device).traffic.size(), count, array);
}
__declspec(dllexport) std::uint32_t zesMemoryGetProperties(zes::Handle part, zes::MemoryProperties* to) {
  if (to->structure != zes::kMemoryProperties || part_of(part) >= adapter_of(part).traffic.size()) return 0x78000004;
  to->location = zes::kOfDevice;
  return value(ZeResult::success);
}
__declspec(dllexport) std::uint32_t zesMemoryGetBandwidth(zes::Handle part, zes::MemoryBandwidth* to) {
  const SysmanBytes& bytes = adapter_of(part).traffic.at(part_of(part));
  const std::uint64_t time = fake().milliseconds;
  *to = {bytes.read * time, bytes.written * time, 4'096'000'000'000, time * 1000};
  return outcome(part, AdapterQuery::traffic);
}
}
