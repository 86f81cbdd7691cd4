// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "igpu/device.h"
#include "igpu/units.h"
#include "kernel/device/engine_class.h"
#include "machine/drm_node.h"

// What the render node's query ioctls report: DRM_IOCTL_I915_QUERY (drivers/gpu/drm/i915/i915_query.c) and
// DRM_IOCTL_XE_DEVICE_QUERY (drivers/gpu/drm/xe/xe_query.c). All of them resume an xe device: never call them on a
// sleeping GPU.
namespace igpu {

struct RegionUse {
  std::string name;  // "system", "local0" (i915 device memory), "vram0" (xe)
  Bytes size;
  std::optional<Bytes> used;  // unknown where the driver reports 0 without CAP_PERFMON, and for i915 system memory
};

struct EngineInstance {
  EngineClass engine_class;
  std::uint16_t instance;
  std::uint16_t gt;
};

// may_know_used: this process has CAP_PERFMON. Without it, a reported `used` of 0 is not a value.
Reading<std::vector<RegionUse>> memory_regions(DrmNode& node, Driver driver, bool may_know_used);

// Engines of an xe device; unknown classes (VM_BIND) are skipped. Sorted by gt, class, instance.
Reading<std::vector<EngineInstance>> xe_engines(DrmNode& node);

// Rate of the timestamp that xe counts cycles by (fdinfo drm-total-cycles-*, engine-total-ticks), hertz.
Reading<std::uint64_t> xe_reference_clock(DrmNode& node);
// The same for a node that is opened only for this query; nullopt if it cannot be opened or does not report it.
std::optional<double> xe_reference_clock(DrmNodes& nodes, std::string_view render_node);

// Firmware of the GPU's microcontrollers.
enum class Microcontroller : std::uint16_t { guc = 0, huc = 1 };
struct FirmwareVersion {
  std::uint32_t major = 0, minor = 0, patch = 0;
  bool operator==(const FirmwareVersion&) const = default;
};
// xe, from Linux 6.11. For HuC: its version, while it runs. For GuC: the version of its submission interface (1.x), not
// of the loaded file (70.x), which only root can read. Absent ENODEV: the GPU has none, or it does not run.
Reading<FirmwareVersion> xe_firmware_version(DrmNode& node, Microcontroller which);
// i915 (I915_PARAM_HUC_STATUS): whether HuC was authenticated; i915 reports no version. Reads a register. Absent with
// the errno that says why HuC does not run: ENODEV (the GPU has none), EOPNOTSUPP (turned off), ENOPKG, ENOEXEC,
// ENOMEM, EIO.
Reading<bool> i915_huc_authenticated(DrmNode& node);

}  // namespace igpu
