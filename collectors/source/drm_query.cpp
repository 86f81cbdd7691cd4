// SPDX-License-Identifier: Apache-2.0
#include "source/drm_query.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <limits>
#include <span>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>

#include "machine/filesystem.h"

namespace igpu {
namespace {

// The uapi structures are written out here: not every distribution that we build on has xe_drm.h.

// _IOC(read | write, 'd', number, size) as of asm-generic/ioctl.h.
constexpr unsigned long drm_request(unsigned long number, std::size_t size) {
  return (3ul << 30) | (static_cast<unsigned long>(size) << 16) | (0x64ul << 8) | number;
}

// include/uapi/drm/i915_drm.h
struct I915QueryItem {
  std::uint64_t query_id;
  std::int32_t length;  // negative: this item's error
  std::uint32_t flags;
  std::uint64_t data_ptr;
};
static_assert(sizeof(I915QueryItem) == 24);

struct I915Query {
  std::uint32_t num_items;
  std::uint32_t flags;
  std::uint64_t items_ptr;
};
static_assert(sizeof(I915Query) == 16);

struct I915MemoryRegionsHeader {
  std::uint32_t num_regions;
  std::uint32_t rsvd[3];
};
static_assert(sizeof(I915MemoryRegionsHeader) == 16);

struct I915MemoryRegion {
  std::uint16_t memory_class;
  std::uint16_t memory_instance;
  std::uint32_t rsvd0;
  std::uint64_t probed_size;
  std::uint64_t unallocated_size;
  std::uint64_t cpu_visible_and_reserved[8];
};
static_assert(sizeof(I915MemoryRegion) == 88);

constexpr unsigned long kI915Query = drm_request(0x40 + 0x39, sizeof(I915Query));
static_assert(kI915Query == 0xc0106479);
constexpr std::uint64_t kI915QueryMemoryRegions = 4;
constexpr std::uint16_t kI915ClassSystem = 0;
constexpr std::uint16_t kI915ClassDevice = 1;

// include/uapi/drm/xe_drm.h
struct XeDeviceQuery {
  std::uint64_t extensions;
  std::uint32_t query;
  std::uint32_t size;
  std::uint64_t data;
  std::uint64_t reserved[2];
};
static_assert(sizeof(XeDeviceQuery) == 40);

struct XeListHeader {  // of engines and of memory regions
  std::uint32_t count;
  std::uint32_t pad;
};
static_assert(sizeof(XeListHeader) == 8);

struct XeMemoryRegion {
  std::uint16_t mem_class;
  std::uint16_t instance;
  std::uint32_t min_page_size;
  std::uint64_t total_size;
  std::uint64_t used;
  std::uint64_t cpu_visible_size;
  std::uint64_t cpu_visible_used;
  std::uint64_t reserved[6];
};
static_assert(sizeof(XeMemoryRegion) == 88);

struct XeEngine {
  std::uint16_t engine_class;
  std::uint16_t engine_instance;
  std::uint16_t gt_id;
  std::uint16_t pad;
  std::uint64_t reserved[3];
};
static_assert(sizeof(XeEngine) == 32);

struct XeGt {
  std::uint16_t type;
  std::uint16_t tile_id;
  std::uint16_t gt_id;
  std::uint16_t pad[3];
  std::uint32_t reference_clock;
  std::uint64_t near_mem_regions;
  std::uint64_t far_mem_regions;
  std::uint16_t ip_version[3];
  std::uint16_t pad2;
  std::uint64_t reserved[7];
};
static_assert(sizeof(XeGt) == 96);

constexpr unsigned long kXeDeviceQuery = drm_request(0x40, sizeof(XeDeviceQuery));
static_assert(kXeDeviceQuery == 0xc0286440);
constexpr std::uint32_t kXeQueryEngines = 0;
constexpr std::uint32_t kXeQueryMemoryRegions = 1;
constexpr std::uint32_t kXeQueryGtList = 3;
constexpr std::uint16_t kXeClassSystem = 0;
constexpr std::uint16_t kXeClassVram = 1;

constexpr std::uint64_t kUnknownSize = std::numeric_limits<std::uint64_t>::max();  // i915's -1

constexpr std::string_view kI915Where = "DRM_IOCTL_I915_QUERY";
constexpr std::string_view kXeWhere = "DRM_IOCTL_XE_DEVICE_QUERY";

// Room for an answer: 92 memory regions or 255 engines, several times what any GPU has. Words, for alignment.
using AnswerBuffer = std::array<std::uint64_t, 1024>;

using Bytewise = std::span<const std::byte>;

// Both drivers refuse a query that they do not know with EINVAL.
template <class T>
Reading<T> refused(int error, std::string_view where) {
  if (error == EINVAL) return Absent{Reason::kernel, error};
  return outcome_of_errno<T>(error, where);
}
template <class T>
Reading<T> refused(const Reading<Unit>& outcome) {
  if (outcome.is_failure() && outcome.failure().code == std::error_code(EINVAL, std::generic_category())) {
    return Absent{Reason::kernel, EINVAL};
  }
  return outcome.propagate<T>();
}

Failure malformed(std::string_view where) { return {std::make_error_code(std::errc::bad_message), std::string(where)}; }

std::uint64_t address_of(void* data) { return reinterpret_cast<std::uintptr_t>(data); }

// Two passes: how much, then the answer. A refusal of the item comes as its negative length while the call succeeds.
Reading<Bytewise> i915_query(DrmNode& node, std::uint64_t id, AnswerBuffer& buffer) {
  I915QueryItem item{id, 0, 0, 0};
  I915Query query{1, 0, address_of(&item)};
  if (const auto asked = node.ioctl(kI915Query, &query); !asked) return refused<Bytewise>(asked);
  if (item.length < 0) return refused<Bytewise>(-item.length, kI915Where);
  const auto needed = static_cast<std::size_t>(item.length);
  if (needed == 0 || needed > sizeof(buffer)) return malformed(kI915Where);

  buffer.fill(0);  // reserved fields that are not zero are refused
  item = {id, static_cast<std::int32_t>(needed), 0, address_of(buffer.data())};
  query = {1, 0, address_of(&item)};
  if (const auto answered = node.ioctl(kI915Query, &query); !answered) return refused<Bytewise>(answered);
  if (item.length < 0) return refused<Bytewise>(-item.length, kI915Where);
  const auto length = static_cast<std::size_t>(item.length);
  if (length > needed) return malformed(kI915Where);
  return std::as_bytes(std::span(buffer)).first(length);
}

// Two passes as well, but the second has to name exactly the size that the first one told.
Reading<Bytewise> xe_query(DrmNode& node, std::uint32_t id, AnswerBuffer& buffer) {
  XeDeviceQuery query{0, id, 0, 0, {}};
  if (const auto asked = node.ioctl(kXeDeviceQuery, &query); !asked) return refused<Bytewise>(asked);
  const std::size_t needed = query.size;
  if (needed == 0 || needed > sizeof(buffer)) return malformed(kXeWhere);

  buffer.fill(0);
  query = {0, id, static_cast<std::uint32_t>(needed), address_of(buffer.data()), {}};
  if (const auto answered = node.ioctl(kXeDeviceQuery, &query); !answered) return refused<Bytewise>(answered);
  return std::as_bytes(std::span(buffer)).first(needed);
}

template <class T>
T load(Bytewise answer, std::size_t offset) {
  T value;
  std::memcpy(&value, answer.data() + offset, sizeof(T));
  return value;
}

// How many items an answer holds; nothing if it claims more than it carries.
template <class Header, class Item>
std::optional<std::size_t> item_count(Bytewise answer, std::uint32_t Header::*count) {
  if (answer.size() < sizeof(Header)) return std::nullopt;
  const std::size_t claimed = load<Header>(answer, 0).*count;
  if (claimed > (answer.size() - sizeof(Header)) / sizeof(Item)) return std::nullopt;
  return claimed;
}

bool has_region(const std::vector<MemoryRegion>& regions, std::string_view name) {
  return std::any_of(regions.begin(), regions.end(), [&](const MemoryRegion& region) { return region.name == name; });
}

// 0 is also what drivers tell those who may not know; some kernels tell everybody.
std::optional<Bytes> told_use(std::uint64_t used, std::uint64_t size, bool may_know_used) {
  if (used > size || (used == 0 && !may_know_used)) return std::nullopt;
  return Bytes{static_cast<double>(used)};
}

void keep_region(std::vector<MemoryRegion>& regions, std::string name, std::uint64_t size, std::optional<Bytes> used) {
  if (size == 0 || size == kUnknownSize || has_region(regions, name)) return;
  regions.push_back({std::move(name), Bytes{static_cast<double>(size)}, used});
}

Reading<std::vector<MemoryRegion>> none_if_empty(std::vector<MemoryRegion> regions) {
  if (regions.empty()) return Absent{Reason::kernel, 0};  // xe as SR-IOV administrator lists regions without size
  return regions;
}

Reading<std::vector<MemoryRegion>> i915_memory_regions(DrmNode& node, bool may_know_used) {
  AnswerBuffer buffer;
  const auto answer = i915_query(node, kI915QueryMemoryRegions, buffer);
  if (!answer) return answer.propagate<std::vector<MemoryRegion>>();
  const auto count =
      item_count<I915MemoryRegionsHeader, I915MemoryRegion>(*answer, &I915MemoryRegionsHeader::num_regions);
  if (!count) return malformed(kI915Where);

  std::vector<MemoryRegion> regions;
  regions.reserve(*count);
  for (std::size_t i = 0; i < *count; ++i) {
    const auto region = load<I915MemoryRegion>(*answer, sizeof(I915MemoryRegionsHeader) + i * sizeof(I915MemoryRegion));
    if (region.memory_class == kI915ClassSystem) {
      keep_region(regions, "system", region.probed_size, std::nullopt);  // not tracked: always shown as free
    } else if (region.memory_class == kI915ClassDevice) {
      const auto used = region.unallocated_size <= region.probed_size
                            ? told_use(region.probed_size - region.unallocated_size, region.probed_size, may_know_used)
                            : std::nullopt;
      keep_region(regions, "local" + std::to_string(region.memory_instance), region.probed_size, used);
    }
  }
  return none_if_empty(std::move(regions));
}

Reading<std::vector<MemoryRegion>> xe_memory_regions(DrmNode& node, bool may_know_used) {
  AnswerBuffer buffer;
  const auto answer = xe_query(node, kXeQueryMemoryRegions, buffer);
  if (!answer) return answer.propagate<std::vector<MemoryRegion>>();
  const auto count = item_count<XeListHeader, XeMemoryRegion>(*answer, &XeListHeader::count);
  if (!count) return malformed(kXeWhere);

  std::vector<MemoryRegion> regions;
  regions.reserve(*count);
  // The instance counts over both classes (1 for the first VRAM); fdinfo and everybody else call that one vram0.
  std::size_t vram = 0;
  for (std::size_t i = 0; i < *count; ++i) {
    const auto region = load<XeMemoryRegion>(*answer, sizeof(XeListHeader) + i * sizeof(XeMemoryRegion));
    const auto used = told_use(region.used, region.total_size, may_know_used);
    if (region.mem_class == kXeClassSystem) {
      keep_region(regions, "system", region.total_size, used);
    } else if (region.mem_class == kXeClassVram) {
      keep_region(regions, "vram" + std::to_string(vram++), region.total_size, used);
    }
  }
  return none_if_empty(std::move(regions));
}

}  // namespace

Reading<std::vector<MemoryRegion>> memory_regions(DrmNode& node, Driver driver, bool may_know_used) {
  return driver == Driver::i915 ? i915_memory_regions(node, may_know_used) : xe_memory_regions(node, may_know_used);
}

Reading<std::vector<EngineInstance>> xe_engines(DrmNode& node) {
  AnswerBuffer buffer;
  const auto answer = xe_query(node, kXeQueryEngines, buffer);
  if (!answer) return answer.propagate<std::vector<EngineInstance>>();
  const auto count = item_count<XeListHeader, XeEngine>(*answer, &XeListHeader::count);
  if (!count) return malformed(kXeWhere);

  std::vector<EngineInstance> engines;
  engines.reserve(*count);
  for (std::size_t i = 0; i < *count; ++i) {
    const auto engine = load<XeEngine>(*answer, sizeof(XeListHeader) + i * sizeof(XeEngine));
    if (engine.engine_class >= kEngineClasses) continue;
    engines.push_back({static_cast<EngineClass>(engine.engine_class), engine.engine_instance, engine.gt_id});
  }
  const auto key = [](const EngineInstance& e) { return std::tuple(e.gt, e.engine_class, e.instance); };
  std::sort(engines.begin(), engines.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
  engines.erase(
      std::unique(engines.begin(), engines.end(), [&](const auto& a, const auto& b) { return key(a) == key(b); }),
      engines.end());
  return engines;
}

Reading<std::uint64_t> xe_reference_clock(DrmNode& node) {
  AnswerBuffer buffer;
  const auto answer = xe_query(node, kXeQueryGtList, buffer);
  if (!answer) return answer.propagate<std::uint64_t>();
  const auto count = item_count<XeListHeader, XeGt>(*answer, &XeListHeader::count);
  if (!count) return malformed(kXeWhere);
  for (std::size_t i = 0; i < *count; ++i) {
    const auto gt = load<XeGt>(*answer, sizeof(XeListHeader) + i * sizeof(XeGt));
    if (gt.reference_clock != 0) return std::uint64_t{gt.reference_clock};
  }
  return Absent{Reason::kernel, 0};
}

std::optional<double> xe_reference_clock(DrmNodes& nodes, std::string_view render_node) {
  const auto node = nodes.open(render_node);
  if (!node) return std::nullopt;
  const auto hertz = xe_reference_clock(**node);
  return hertz ? std::optional(static_cast<double>(*hertz)) : std::nullopt;
}

}  // namespace igpu
