// SPDX-License-Identifier: Apache-2.0
#include "kernel/device/drm_query.h"

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

#include "kernel/device/drm_uapi.h"
#include "machine/filesystem.h"
#include "machine/linux_errors.h"

namespace igpu {
namespace {

constexpr std::uint64_t kUnknownSize = std::numeric_limits<std::uint64_t>::max();  // i915's -1

constexpr std::string_view kI915Where = "DRM_IOCTL_I915_QUERY";
constexpr std::string_view kXeWhere = "DRM_IOCTL_XE_DEVICE_QUERY";

// Room for an answer: 92 memory regions or 255 engines, several times what any GPU has. Words, for alignment.
using AnswerBuffer = std::array<std::uint64_t, 1024>;

using Bytewise = std::span<const std::byte>;

// Both drivers reject an unknown query with EINVAL.
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

Failure malformed_answer(std::string_view where) {
  return {std::make_error_code(std::errc::bad_message), std::string(where)};
}

std::uint64_t address_of(void* data) { return reinterpret_cast<std::uintptr_t>(data); }

// Two passes: the size, then the answer. A rejected item has a negative length although the call succeeds.
Reading<Bytewise> i915_query(DrmNode& node, std::uint64_t id, AnswerBuffer& buffer) {
  drm::I915QueryItem item{id, 0, 0, 0};
  drm::I915Query query{1, 0, address_of(&item)};
  if (const auto asked = node.ioctl(drm::kIoctlI915Query, &query); !asked) return refused<Bytewise>(asked);
  if (item.length < 0) return refused<Bytewise>(-item.length, kI915Where);
  const auto needed = static_cast<std::size_t>(item.length);
  if (needed == 0 || needed > sizeof(buffer)) return malformed_answer(kI915Where);

  buffer.fill(0);  // reserved fields that are not zero are rejected
  item = {id, static_cast<std::int32_t>(needed), 0, address_of(buffer.data())};
  query = {1, 0, address_of(&item)};
  if (const auto answered = node.ioctl(drm::kIoctlI915Query, &query); !answered) return refused<Bytewise>(answered);
  if (item.length < 0) return refused<Bytewise>(-item.length, kI915Where);
  const auto length = static_cast<std::size_t>(item.length);
  if (length > needed) return malformed_answer(kI915Where);
  return std::as_bytes(std::span(buffer)).first(length);
}

// Two passes as well, but the second must pass exactly the size that the first one reported.
Reading<Bytewise> xe_query(DrmNode& node, std::uint32_t id, AnswerBuffer& buffer, Bytewise question = {}) {
  drm::XeDeviceQuery query{0, id, 0, 0, {}};
  if (const auto asked = node.ioctl(drm::kIoctlXeDeviceQuery, &query); !asked) return refused<Bytewise>(asked);
  const std::size_t needed = query.size;
  if (needed == 0 || needed > sizeof(buffer)) return malformed_answer(kXeWhere);

  buffer.fill(0);
  std::copy_n(question.begin(), std::min(question.size(), needed), std::as_writable_bytes(std::span(buffer)).begin());
  query = {0, id, static_cast<std::uint32_t>(needed), address_of(buffer.data()), {}};
  if (const auto answered = node.ioctl(drm::kIoctlXeDeviceQuery, &query); !answered) return refused<Bytewise>(answered);
  return std::as_bytes(std::span(buffer)).first(needed);
}

template <class T>
T load_field(Bytewise answer, std::size_t offset) {
  T value;
  std::memcpy(&value, answer.data() + offset, sizeof(T));
  return value;
}

// The items after the header of an answer; malformed if it claims more than it contains.
template <class Header, class Item>
Reading<std::vector<Item>> items_of(const Reading<Bytewise>& answer, std::string_view where) {
  if (!answer) return answer.template propagate<std::vector<Item>>();
  if (answer->size() < sizeof(Header)) return malformed_answer(where);
  const std::size_t count = load_field<Header>(*answer, 0).count;
  if (count > (answer->size() - sizeof(Header)) / sizeof(Item)) return malformed_answer(where);
  std::vector<Item> items;
  items.reserve(count);
  for (std::size_t i = 0; i < count; ++i) items.push_back(load_field<Item>(*answer, sizeof(Header) + i * sizeof(Item)));
  return items;
}

template <class Item>
Reading<std::vector<Item>> xe_items(DrmNode& node, std::uint32_t id) {
  AnswerBuffer buffer;
  return items_of<drm::XeHeader, Item>(xe_query(node, id, buffer), kXeWhere);
}

bool has_region(const std::vector<RegionUse>& regions, std::string_view name) {
  return std::ranges::any_of(regions, [&](const RegionUse& region) { return region.name == name; });
}

// Drivers also report 0 to callers without the capability; some kernels report the value to all.
std::optional<Bytes> known_use(std::uint64_t used, std::uint64_t size, bool may_know_used) {
  if (used > size || (used == 0 && !may_know_used)) return std::nullopt;
  return Bytes{static_cast<double>(used)};
}

void keep_region(std::vector<RegionUse>& regions, std::string name, std::uint64_t size, std::optional<Bytes> used) {
  if (size == 0 || size == kUnknownSize || has_region(regions, name)) return;
  regions.push_back({std::move(name), Bytes{static_cast<double>(size)}, used});
}

Reading<std::vector<RegionUse>> none_if_empty(std::vector<RegionUse> regions) {
  if (regions.empty()) return Absent{Reason::kernel, 0};  // xe as SR-IOV administrator lists regions without size
  return regions;
}

Reading<std::vector<RegionUse>> i915_memory_regions(DrmNode& node, bool may_know_used) {
  AnswerBuffer buffer;
  const auto listed =
      items_of<drm::I915Header, drm::I915MemoryRegion>(i915_query(node, drm::kI915MemoryRegions, buffer), kI915Where);
  if (!listed) return listed.propagate<std::vector<RegionUse>>();

  std::vector<RegionUse> regions;
  for (const drm::I915MemoryRegion& region : *listed) {
    if (region.memory_class == drm::kI915ClassSystem) {
      keep_region(regions, "system", region.probed_size, std::nullopt);  // not tracked: always shown as free
    } else if (region.memory_class == drm::kI915ClassDevice) {
      const auto used = region.unallocated_size <= region.probed_size
                            ? known_use(region.probed_size - region.unallocated_size, region.probed_size, may_know_used)
                            : std::nullopt;
      keep_region(regions, "local" + std::to_string(region.instance), region.probed_size, used);
    }
  }
  return none_if_empty(std::move(regions));
}

Reading<std::vector<RegionUse>> xe_memory_regions(DrmNode& node, bool may_know_used) {
  const auto listed = xe_items<drm::XeMemoryRegion>(node, drm::kXeMemoryRegions);
  if (!listed) return listed.propagate<std::vector<RegionUse>>();

  std::vector<RegionUse> regions;
  // The instance counts over both classes (1 for the first VRAM); fdinfo and other tools call it vram0.
  std::size_t vram = 0;
  for (const drm::XeMemoryRegion& region : *listed) {
    const auto used = known_use(region.used, region.total_size, may_know_used);
    if (region.memory_class == drm::kXeClassSystem) {
      keep_region(regions, "system", region.total_size, used);
    } else if (region.memory_class == drm::kXeClassVram) {
      keep_region(regions, "vram" + std::to_string(vram++), region.total_size, used);
    }
  }
  return none_if_empty(std::move(regions));
}

}  // namespace

Reading<std::vector<RegionUse>> memory_regions(DrmNode& node, Driver driver, bool may_know_used) {
  return driver == Driver::i915 ? i915_memory_regions(node, may_know_used) : xe_memory_regions(node, may_know_used);
}

Reading<std::vector<EngineInstance>> xe_engines(DrmNode& node) {
  const auto listed = xe_items<drm::XeEngine>(node, drm::kXeEngines);
  if (!listed) return listed.propagate<std::vector<EngineInstance>>();

  std::vector<EngineInstance> engines;
  for (const drm::XeEngine& engine : *listed) {
    if (engine.engine_class >= kEngineClasses) continue;
    engines.push_back({static_cast<EngineClass>(engine.engine_class), engine.instance, engine.gt});
  }
  const auto key = [](const EngineInstance& e) { return std::tuple(e.gt, e.engine_class, e.instance); };
  std::ranges::sort(engines, [&](const auto& a, const auto& b) { return key(a) < key(b); });
  engines.erase(
      std::unique(engines.begin(), engines.end(), [&](const auto& a, const auto& b) { return key(a) == key(b); }),
      engines.end());
  return engines;
}

Reading<std::uint64_t> xe_reference_clock(DrmNode& node) {
  const auto listed = xe_items<drm::XeGt>(node, drm::kXeGtList);
  if (!listed) return listed.propagate<std::uint64_t>();
  for (const drm::XeGt& gt : *listed) {
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

Reading<FirmwareVersion> xe_firmware_version(DrmNode& node, Microcontroller which) {
  AnswerBuffer buffer;
  drm::XeFirmwareVersion asked{};
  asked.which = static_cast<std::uint16_t>(which);
  const auto answer = xe_query(node, drm::kXeFirmwareVersion, buffer, std::as_bytes(std::span(&asked, 1)));
  if (!answer) return answer.propagate<FirmwareVersion>();
  if (answer->size() < sizeof(drm::XeFirmwareVersion)) return malformed_answer(kXeWhere);
  const auto version = load_field<drm::XeFirmwareVersion>(*answer, 0);
  return FirmwareVersion{version.major, version.minor, version.patch};
}

Reading<bool> i915_huc_authenticated(DrmNode& node) {
  int status = 0;
  drm::I915Getparam query{drm::kI915HucStatus, 0, address_of(&status)};
  const auto answered = node.ioctl(drm::kIoctlI915Getparam, &query);
  if (answered) return status > 0;
  if (answered.is_failure() && answered.failure().code.category() == std::generic_category()) {
    // The driver's way to say what became of the firmware: nothing went wrong with the question.
    const int error = answered.failure().code.value();
    for (const int known : {EINVAL, ENOPKG, ENOEXEC, ENOMEM, EIO})
      if (error == known) return Absent{Reason::kernel, error};
  }
  return answered.propagate<bool>();
}

}  // namespace igpu
