// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

// The parts of uapi drm/drm.h, drm/i915_drm.h and drm/xe_drm.h that the exporter sends to render nodes, and that
// simulated nodes implement. Copied here, because some supported distributions lack xe_drm.h.
namespace igpu::drm {

// _IOC(read | write, 'd', number, size) as of asm-generic/ioctl.h.
constexpr unsigned long request(unsigned long number, std::size_t size) {
  return (3ul << 30) | (static_cast<unsigned long>(size) << 16) | (0x64ul << 8) | number;
}

struct I915Query {
  std::uint32_t num_items, flags;
  std::uint64_t items;
};
static_assert(sizeof(I915Query) == 16);
inline constexpr unsigned long kIoctlI915Query = request(0x40 + 0x39, sizeof(I915Query));
static_assert(kIoctlI915Query == 0xc0106479);

// Waits for the caller's own work, of which there is none; without an argument.
inline constexpr unsigned long kIoctlI915Throttle = 0x6458;

struct I915QueryItem {
  std::uint64_t query_id;
  std::int32_t length;  // negative: this item's error
  std::uint32_t flags;
  std::uint64_t data;
};
static_assert(sizeof(I915QueryItem) == 24);

struct I915Getparam {
  std::int32_t param, pad;
  std::uint64_t value;  // pointer to an int
};
static_assert(sizeof(I915Getparam) == 16);
inline constexpr unsigned long kIoctlI915Getparam = request(0x40 + 0x06, sizeof(I915Getparam));
static_assert(kIoctlI915Getparam == 0xc0106446);
inline constexpr std::int32_t kI915HucStatus = 42;

inline constexpr std::uint64_t kI915MemoryRegions = 4;
inline constexpr std::uint16_t kI915ClassSystem = 0;
inline constexpr std::uint16_t kI915ClassDevice = 1;

struct I915Header {
  std::uint32_t count;
  std::uint32_t reserved[3];
};

struct I915MemoryRegion {
  std::uint16_t memory_class, instance;
  std::uint32_t reserved0;
  std::uint64_t probed_size, unallocated_size;
  std::uint64_t probed_cpu_visible_size, unallocated_cpu_visible_size;
  std::uint64_t reserved1[6];
};
static_assert(sizeof(I915MemoryRegion) == 88);

struct XeDeviceQuery {
  std::uint64_t extensions;
  std::uint32_t query, size;
  std::uint64_t data;
  std::uint64_t reserved[2];
};
static_assert(sizeof(XeDeviceQuery) == 40);
inline constexpr unsigned long kIoctlXeDeviceQuery = request(0x40, sizeof(XeDeviceQuery));
static_assert(kIoctlXeDeviceQuery == 0xc0286440);

inline constexpr std::uint32_t kXeEngines = 0;
inline constexpr std::uint32_t kXeMemoryRegions = 1;
inline constexpr std::uint32_t kXeConfig = 2;
inline constexpr std::uint32_t kXeGtList = 3;
inline constexpr std::uint32_t kXeFirmwareVersion = 7;
inline constexpr std::uint16_t kXeClassSystem = 0;
inline constexpr std::uint16_t kXeClassVram = 1;

struct XeHeader {  // of all four results
  std::uint32_t count, pad;
};

struct XeEngine {
  std::uint16_t engine_class, instance, gt, pad;
  std::uint64_t reserved[3];
};
static_assert(sizeof(XeEngine) == 32);

struct XeMemoryRegion {
  std::uint16_t memory_class, instance;
  std::uint32_t min_page_size;
  std::uint64_t total_size, used, cpu_visible_size, cpu_visible_used;
  std::uint64_t reserved[6];
};
static_assert(sizeof(XeMemoryRegion) == 88);

struct XeGt {
  std::uint16_t type, tile, gt;
  std::uint16_t pad[3];
  std::uint32_t reference_clock;
  std::uint64_t near_memory, far_memory;
  std::uint16_t version_major, version_minor, revision, pad3;
  std::uint64_t reserved[7];
};
static_assert(sizeof(XeGt) == 96);

// The caller sets which; all else must be 0.
struct XeFirmwareVersion {
  std::uint16_t which;  // 0 GuC, 1 HuC
  std::uint16_t pad;
  std::uint32_t branch, major, minor, patch, pad2;
  std::uint64_t reserved;
};
static_assert(sizeof(XeFirmwareVersion) == 32);

}  // namespace igpu::drm
