// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "igpu/device.h"
#include "igpu/displays.h"
#include "igpu/units.h"
#include "view/format/intel_gpu_top_output.h"

namespace igpu::exporter {

struct Options;

inline constexpr std::string_view kIntelGpuTop = "intel_gpu_top";  // command, and name of a link to the program

// The words of intel_gpu_top, as the original reads them.
struct IntelGpuTopArguments {
  enum class Output { none, json, csv, text };

  bool help = false, list = false;
  Output output = Output::none;  // the last one given
  IntelGpuTopLayout layout;
  std::optional<std::string> file;    // "-": standard output
  std::optional<std::string> filter;  // of devices
  Nanoseconds period = std::chrono::seconds(1);
  std::uint64_t records = 0;  // 0: endless
};

// Reads options.operands into options.intel_gpu_top. layout: IGT_LAYOUT, null if it is not set. Returns lines for
// standard error if a flag is invalid, otherwise "".
std::string read_intel_gpu_top_arguments(Options& options, const char* layout);

// Started by a link of this name, the program is that command.
void add_command_of_name(std::string_view program, std::vector<std::string>& arguments);

// The devices that intel_gpu_top -L lists, and the filter of -d that chooses one of them.

// What igt calls a family of GPUs, and the generation that it shows beside it: "dg2", 12.
struct Codename {
  std::string_view name;  // "": unknown
  int generation = 0;
};
// By PCI device id (include/drm/intel/pciids.h), as intel_gpu_top -L and its filter device= name them.
Codename igt_codename(std::uint16_t device_id);

// A PCI device with a DRM node, of any vendor.
struct DrmDevice {
  std::string path;  // below /sys: "/sys/devices/pci0000:00/0000:00:02.0"
  std::string address;
  std::string card, render_node;  // "" if there is none
  std::uint16_t vendor = 0, device = 0;
  std::optional<GpuKind> kind = std::nullopt;  // nullopt: not one of the GPUs that can be read
};

// In the order of their paths. gpus: those of them that are bound to i915 or xe and may be chosen.
std::vector<DrmDevice> drm_devices(std::span<const DisplayDevice> all, std::span<const Gpu> gpus);

// What -L prints.
std::string device_list(std::span<const DrmDevice> devices);

struct ChosenDevice {
  const DrmDevice* device = nullptr;
  std::string error;  // lines for standard error if there is none
};
// Without a filter: the first card, otherwise the first integrated GPU.
ChosenDevice choose_device(std::span<const DrmDevice> devices, const std::optional<std::string>& filter);

}  // namespace igpu::exporter
