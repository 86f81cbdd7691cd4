// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "igpu/device.h"
#include "kernel/clients/clients.h"

// One /proc/<pid>/fdinfo/<fd> of a DRM file (Documentation/gpu/drm-usage-stats.rst; drivers/gpu/drm/drm_file.c,
// i915/i915_drm_client.c, xe/xe_drm_client.c). Pure: text in, views into that text and numbers out; no allocation.
//
// The rules follow what real kernels print: the separator is a colon with or without spaces around it; keys come in any
// order and may be unknown; a unit applies to its line only (none means bytes); the first of duplicate keys counts; a
// number that does not fit, an unknown unit or a truncated last line invalidates that line only.
namespace igpu {

struct FdinfoRegion {
  std::string_view name;                                                    // as printed; printable ASCII
  std::optional<std::uint64_t> total, shared, active, resident, purgeable;  // bytes
};

struct FdinfoBlock {
  // A DRM device has a handful of regions; what a malicious text contains beyond that is skipped.
  static constexpr std::size_t kMaxRegions = 16;

  std::string_view driver;   // "i915", "xe", "amdgpu", ...; "" if the text does not name it
  std::string_view address;  // of drm-pdev; "" if missing or not of the form dddd:bb:ss.f
  std::optional<std::uint64_t> client_id;
  std::array<ClientEngine, kEngineClasses> engines{};  // indexed by EngineClass
  std::span<const FdinfoRegion> regions() const { return {region_store.data(), region_count}; }

  std::array<FdinfoRegion, kMaxRegions> region_store{};
  std::size_t region_count = 0;
};

// Reads the block; false (quickly) for a file that is not a DRM client. Both schemas are parsed, whichever the driver.
bool parse_fdinfo(std::string_view text, FdinfoBlock& block);

// Classes of blocks.
enum class FdinfoKind {
  client,        // of i915 or xe, with id and address
  npu_client,    // of intel_vpu, with id and address
  other_driver,  // another driver's
  incomplete,    // an Intel client without id or address, or DRM text that names no driver
};
FdinfoKind kind_of(const FdinfoBlock& block);
// The driver i915 or xe; nullopt for all others.
std::optional<Driver> intel_driver(std::string_view name);

}  // namespace igpu
