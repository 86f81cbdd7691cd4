// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "igpu/device.h"
#include "source/clients.h"

// One /proc/<pid>/fdinfo/<fd> of a DRM file (Documentation/gpu/drm-usage-stats.rst; drivers/gpu/drm/drm_file.c,
// i915/i915_drm_client.c, xe/xe_drm_client.c). Pure: text in, views into that text and numbers out; no allocation.
//
// What real kernels print decides the rules: the separator is a colon with any blanks around it, also none; keys come
// in any order and may be unknown; a unit belongs to its line only (none is bytes); of a key printed twice the first
// counts; a number that does not fit, an unknown unit or a last line that was cut off costs that line alone.
namespace igpu {

struct FdinfoRegion {
  std::string_view name;                                                    // as printed; printable ASCII
  std::optional<std::uint64_t> total, shared, active, resident, purgeable;  // bytes
};

struct FdinfoBlock {
  // A DRM device has a handful of regions; what a hostile text prints beyond that is skipped.
  static constexpr std::size_t kMaxRegions = 16;

  std::string_view driver;   // "i915", "xe", "amdgpu", ...; "" if the text does not say
  std::string_view address;  // of drm-pdev; "" if missing or not of the shape dddd:bb:ss.f
  std::optional<std::uint64_t> client_id;
  std::array<ClientEngine, kEngineClasses> engines{};  // indexed by EngineClass
  std::span<const FdinfoRegion> regions() const { return {region_store.data(), region_count}; }

  std::array<FdinfoRegion, kMaxRegions> region_store{};
  std::size_t region_count = 0;
};

// Reads the block; false (quickly) for a file that is no DRM client at all. Both schemas are read whatever the driver
// is.
bool parse_fdinfo(std::string_view text, FdinfoBlock& block);

// What a block is to us.
enum class FdinfoKind {
  client,        // of i915 or xe, with id and address
  other_driver,  // another driver's
  incomplete,    // an Intel client without id or address, or DRM text without a driver: no owner
};
FdinfoKind kind_of(const FdinfoBlock& block);
// i915 or xe; nothing for others.
std::optional<Driver> intel_driver(std::string_view name);

}  // namespace igpu
