// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "igpu/export.h"

// One GPU as the kernel reports it. These facts hold until the device is rebound.
// Sources: /sys/class/drm, /sys/bus/pci/devices (Documentation/ABI/testing/sysfs-bus-pci), pci.ids; on Windows the
// graphics kernel (D3DKMT).
namespace igpu {

enum class Driver { i915, xe, wddm };  // wddm: Windows' own model, whatever the driver behind it
enum class GpuKind { integrated, discrete };

constexpr const char* to_string(Driver driver) {
  return driver == Driver::i915 ? "i915" : driver == Driver::xe ? "xe" : "wddm";
}
constexpr const char* to_string(GpuKind kind) { return kind == GpuKind::integrated ? "integrated" : "discrete"; }

class OpenGpu;
struct GpuOptions;

struct Gpu {
  std::string address;      // PCI address as the kernel writes it, "0000:03:00.0": the identity
  std::string pci_path;     // relative to the sysfs root: "devices/pci0000:00/.../0000:03:00.0"
  std::string card;         // "card1"; "" if there is none
  std::string render_node;  // "renderD128"; "" if there is none
  Driver driver = Driver::i915;
  GpuKind kind = GpuKind::integrated;
  std::uint16_t device_id = 0;  // 0x56a0; 0: unknown
  std::optional<std::uint8_t> revision;
  std::string name;               // from the system's pci.ids, otherwise from the built-in table; "" if neither has it
  int numa_node = -1;             // -1: unknown
  bool virtual_function = false;  // SR-IOV VF: no PMU on xe, no hwmon, no gtidle
  std::uint64_t binding = 0;  // changes when the device is rebound; two Gpus with the same value are the same binding

  // igpu/gpu.h: the GPUs of this machine, and one of them to read.
  IGPU_API static std::vector<Gpu> list();
  IGPU_API static std::vector<Gpu> list(const GpuOptions& options);
  IGPU_API static OpenGpu detect();
  IGPU_API static OpenGpu detect(const GpuOptions& options);
  IGPU_API static OpenGpu open(std::string_view name);
  IGPU_API static OpenGpu open(std::string_view name, const GpuOptions& options);
};

// Whether readings of the processor package (RAPL, memory controllers, the package's temperature, the PMU without an
// address) are reported for this GPU: for an integrated one, once, and not again for its virtual functions.
inline bool stands_for_package(const Gpu& gpu) { return gpu.kind == GpuKind::integrated && !gpu.virtual_function; }

// The number of a GPU in every view: 1 of card1. position: its place among the GPUs, which counts if it has no card.
inline std::size_t number_of(const Gpu& gpu, std::size_t position) {
  constexpr std::size_t kDigits = 4;  // after "card"
  if (gpu.card.size() > kDigits)
    (void)std::from_chars(gpu.card.data() + kDigits, gpu.card.data() + gpu.card.size(), position);
  return position;
}

// The numbers are those of both uapis (i915_drm.h enum drm_i915_gem_engine_class, xe_drm.h DRM_XE_ENGINE_CLASS_*).
enum class EngineClass : std::uint8_t { render = 0, copy = 1, video = 2, video_enhance = 3, compute = 4 };
inline constexpr std::size_t kEngineClasses = 5;

// Value of the label "class" in the metrics.
constexpr std::string_view to_string(EngineClass engine_class) {
  constexpr std::string_view kNames[kEngineClasses] = {"render", "copy", "video", "video_enhance", "compute"};
  return kNames[static_cast<std::size_t>(engine_class)];
}

}  // namespace igpu
