// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

// The part of d3dkmthk.h (Windows Driver Kit, x64) that the exporter calls, and that the tests' own gdi32 implements.
// Copied here, because mingw-w64 has only a part of it.
namespace igpu::d3dkmt {

static_assert(sizeof(void*) == 8, "the layouts are those of x64");

struct Luid {
  std::uint32_t low;
  std::int32_t high;
};

struct AdapterInfo {
  std::uint32_t handle;
  Luid luid;
  std::uint32_t sources;
  std::int32_t precise_regions;
};
static_assert(sizeof(AdapterInfo) == 20);

struct EnumAdapters2 {
  std::uint32_t count;    // in: of the array; out: of the adapters
  AdapterInfo* adapters;  // null: only the count is returned
};
static_assert(sizeof(EnumAdapters2) == 16);

struct OpenAdapterFromLuid {
  Luid luid;
  std::uint32_t handle;  // out
};
static_assert(sizeof(OpenAdapterFromLuid) == 12);

struct CloseAdapter {
  std::uint32_t handle;
};

struct QueryAdapterInfo {
  std::uint32_t handle;
  std::uint32_t type;
  void* data;
  std::uint32_t size;
};
static_assert(sizeof(QueryAdapterInfo) == 24 && offsetof(QueryAdapterInfo, data) == 8);

// KMTQUERYADAPTERINFOTYPE
inline constexpr std::uint32_t kSegmentSize = 3;
inline constexpr std::uint32_t kAddress = 6;
inline constexpr std::uint32_t kRegistry = 8;
inline constexpr std::uint32_t kNodeMetadata = 25;
inline constexpr std::uint32_t kDeviceIds = 31;
inline constexpr std::uint32_t kNodePerformance = 61;
inline constexpr std::uint32_t kPerformance = 62;

struct SegmentSize {
  std::uint64_t dedicated_video, dedicated_system, shared;
};
static_assert(sizeof(SegmentSize) == 24);

struct Address {
  std::uint32_t bus, slot, function;
};
static_assert(sizeof(Address) == 12);

struct Registry {
  static constexpr std::size_t kLength = 260;
  char16_t adapter[kLength], bios[kLength], dac[kLength], chip[kLength];
};
static_assert(sizeof(Registry) == 2080);

struct DeviceIds {
  std::uint32_t physical_adapter;
  std::uint32_t vendor, device, subvendor, subsystem, revision, bus;
};
static_assert(sizeof(DeviceIds) == 28);

struct NodeMetadata {
  static constexpr std::size_t kLength = 32;
  std::uint32_t node;  // and the physical adapter in the upper half
  std::uint32_t type;
  char16_t name[kLength];
  std::uint32_t flags;
  std::uint8_t gpu_mmu, io_mmu;
};
static_assert(sizeof(NodeMetadata) == 80 && offsetof(NodeMetadata, name) == 8);

struct NodePerformance {
  std::uint32_t node, physical_adapter;
  std::uint64_t hertz, max_hertz, max_overclocked_hertz;
  std::uint32_t millivolts, max_millivolts, max_overclocked_millivolts;
  std::uint64_t longest_transition;
};
static_assert(sizeof(NodePerformance) == 56 && offsetof(NodePerformance, hertz) == 8);

struct Performance {
  std::uint32_t physical_adapter;
  std::uint64_t memory_hertz, max_memory_hertz, max_overclocked_memory_hertz, memory_bandwidth, pcie_bandwidth;
  std::uint32_t fan_rpm, power, deci_celsius;
  std::uint8_t power_overridden;
};
static_assert(sizeof(Performance) == 64 && offsetof(Performance, fan_rpm) == 48 && offsetof(Performance, power) == 52 &&
              offsetof(Performance, deci_celsius) == 56);

// D3DKMT_QUERYSTATISTICS_TYPE
inline constexpr std::uint32_t kOfAdapter = 0;
inline constexpr std::uint32_t kOfSegment = 3;
inline constexpr std::uint32_t kOfProcessSegment = 4;
inline constexpr std::uint32_t kOfNode = 5;
inline constexpr std::uint32_t kOfProcessNode = 6;

struct AdapterStatistics {
  std::uint32_t segments, nodes;
};
struct SegmentStatistics {
  std::uint64_t limit, committed, resident, evicted;
  std::uint32_t allocations_committed, allocations_resident;
  std::uint32_t aperture;
};
static_assert(offsetof(SegmentStatistics, aperture) == 40);
struct NodeStatistics {
  std::int64_t running;
};
struct ProcessSegmentStatistics {
  std::uint64_t committed;
};

struct QueryStatistics {
  std::uint32_t type;
  Luid luid;
  void* process;
  union Result {
    std::uint8_t bytes[0x308];
    AdapterStatistics adapter;
    SegmentStatistics segment;
    NodeStatistics node;
    ProcessSegmentStatistics process_segment;
  } result;
  std::uint32_t query;  // number of the segment or node
  std::uint32_t unused;
};
static_assert(offsetof(QueryStatistics, process) == 0x10 && offsetof(QueryStatistics, result) == 0x18 &&
              offsetof(QueryStatistics, query) == 0x320 && sizeof(QueryStatistics) == 0x328);

}  // namespace igpu::d3dkmt
