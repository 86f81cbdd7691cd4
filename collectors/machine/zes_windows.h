// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

// The part of Level Zero's Sysman (specification 1.5, x64) that the exporter calls, and that the tests' own ze_loader
// implements.
namespace igpu::zes {

static_assert(sizeof(void*) == 8, "the layouts are those of x64");

using Handle = void*;

// zes_structure_type_t
inline constexpr std::uint32_t kPciProperties = 0x2;
inline constexpr std::uint32_t kMemoryProperties = 0xb;
inline constexpr std::uint32_t kPowerProperties = 0xd;
inline constexpr std::uint32_t kTemperatureProperties = 0x14;
inline constexpr std::uint32_t kPowerLimit = 0x27;
inline constexpr std::uint32_t kPowerExtProperties = 0x28;

struct PciProperties {
  std::uint32_t structure = kPciProperties;
  void* next = nullptr;
  std::uint32_t domain = 0, bus = 0, device = 0, function = 0;
  std::int32_t generation = 0, width = 0;
  std::int64_t max_bandwidth = 0;
  std::uint8_t bandwidth_counters = 0, packet_counters = 0, replay_counters = 0;
};
static_assert(sizeof(PciProperties) == 56 && offsetof(PciProperties, domain) == 16 &&
              offsetof(PciProperties, bandwidth_counters) == 48);

struct PowerProperties {
  std::uint32_t structure = kPowerProperties;
  void* next = nullptr;
  std::uint8_t on_subdevice = 0;
  std::uint32_t subdevice = 0;
  std::uint8_t can_control = 0, has_threshold = 0;
  std::int32_t default_limit = 0, min_limit = 0, max_limit = 0;
};
static_assert(sizeof(PowerProperties) == 40 && offsetof(PowerProperties, on_subdevice) == 16 &&
              offsetof(PowerProperties, default_limit) == 28);

struct PowerLimit {  // drivers fill it, and it is not read
  std::uint32_t structure = kPowerLimit;
  void* next = nullptr;
  std::uint32_t level = 0, source = 0, unit = 0;
  std::uint8_t state_locked = 0, enabled = 0, interval_locked = 0;
  std::int32_t interval = 0;
  std::uint8_t limit_locked = 0;
  std::int32_t limit = 0;
};
static_assert(sizeof(PowerLimit) == 48 && offsetof(PowerLimit, limit) == 40);

struct PowerExtProperties {  // in PowerProperties::next
  std::uint32_t structure = kPowerExtProperties;
  void* next = nullptr;
  std::uint32_t domain = 0;
  PowerLimit* default_limit = nullptr;
};
static_assert(sizeof(PowerExtProperties) == 32 && offsetof(PowerExtProperties, domain) == 16);

struct EnergyCounter {
  std::uint64_t microjoules, timestamp;
};
static_assert(sizeof(EnergyCounter) == 16);

struct TemperatureProperties {
  std::uint32_t structure = kTemperatureProperties;
  void* next = nullptr;
  std::uint32_t sensor = 0;
  std::uint8_t on_subdevice = 0;
  std::uint32_t subdevice = 0;
  double max = 0;
  std::uint8_t has_critical = 0, has_threshold1 = 0, has_threshold2 = 0;
};
static_assert(sizeof(TemperatureProperties) == 48 && offsetof(TemperatureProperties, sensor) == 16 &&
              offsetof(TemperatureProperties, max) == 32);

inline constexpr std::uint32_t kRpm = 0;  // ZES_FAN_SPEED_UNITS_RPM

struct MemoryProperties {
  std::uint32_t structure = kMemoryProperties;
  void* next = nullptr;
  std::uint32_t type = 0;
  std::uint8_t on_subdevice = 0;
  std::uint32_t subdevice = 0;
  std::uint32_t location = 0;
  std::uint64_t size = 0;
  std::int32_t bus_width = 0, channels = 0;
};
static_assert(sizeof(MemoryProperties) == 48 && offsetof(MemoryProperties, location) == 28 &&
              offsetof(MemoryProperties, size) == 32);
inline constexpr std::uint32_t kOfDevice = 1;  // ZES_MEM_LOC_DEVICE

struct MemoryBandwidth {
  std::uint64_t read, written, max, timestamp;
};
static_assert(sizeof(MemoryBandwidth) == 32);

}  // namespace igpu::zes
