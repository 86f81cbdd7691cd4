// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>

#include "base/scan.h"
#include "base/scan_schedule.h"
#include "igpu/reading.h"
#include "igpu/units.h"
#include "kernel/sysfs/attribute.h"
#include "kernel/sysfs/pci_files.h"
#include "machine/filesystem.h"

namespace igpu {

// What the driver intel_vpu reports about an NPU in the folder of its PCI device (drivers/accel/ivpu/ivpu_sysfs.c,
// clocks: ivpu_hw_btrs.c; Documentation/ABI/testing/sysfs-driver-intel_vpu). All files are world-readable, and reading
// them never resumes a sleeping NPU: the driver itself counts busy time and memory, and reads the present clock from
// the hardware only while it is active (pm_runtime_get_if_active).
class NpuFiles {
 public:
  NpuFiles(const Directory& sys, const std::string& pci_path)
      : busy_(sys, pci_path + "/npu_busy_time_us"),
        memory_(sys, pci_path + "/npu_memory_utilization"),
        current_(sys, pci_path + "/freq/current_freq"),
        old_current_(sys, pci_path + "/npu_current_frequency_mhz"),
        highest_(sys, pci_path + "/freq/hw_max_freq"),
        old_highest_(sys, pci_path + "/npu_max_frequency_mhz"),
        power_(sys, pci_path) {}

  // npu_busy_time_us (Linux 6.11): microseconds with at least one job submitted, so waiting counts. Restarts at zero
  // when the driver is reloaded. Read it at most once a second: it takes a lock that submissions need.
  Reading<std::uint64_t> busy_microseconds() { return busy_.number(); }
  // npu_memory_utilization (Linux 6.15): bytes (despite the name) of the resident buffers. The first kernels with this
  // file count all buffers.
  Reading<Bytes> resident_memory() {
    return memory_.number().map([](std::uint64_t bytes) { return Bytes{static_cast<double>(bytes)}; });
  }
  // freq/current_freq, before that npu_current_frequency_mhz (Linux 6.16); 0 while the NPU idles.
  Reading<Hertz> current_frequency() { return first_of(current_, old_current_); }
  // freq/hw_max_freq, before that npu_max_frequency_mhz (Linux 6.16).
  Reading<Hertz> highest_frequency() { return first_of(highest_, old_highest_); }
  Reading<bool> suspended() { return power_.suspended(); }

 private:
  static Reading<Hertz> first_of(Attribute& first, Attribute& second) {
    constexpr double kMegahertz = 1e6;
    auto read = first.number();
    if (read.is_absent()) read = second.number();
    return read.map([](std::uint64_t megahertz) { return Hertz{static_cast<double>(megahertz) * kMegahertz}; });
  }

  Attribute busy_, memory_, current_, old_current_, highest_, old_highest_;
  RuntimePm power_;
};

// Energy and temperature of the NPU in the processor's telemetry (Platform Monitoring Technology;
// drivers/platform/x86/intel/pmt/telemetry.c): /sys/class/intel_pmt/telem<n>/telem, readable by root only. The file
// `guid` identifies its layout. Only layouts that Intel has published are read: those of Meteor Lake, Arrow Lake, Lunar
// Lake and Panther Lake, as in intel-npu-smi (linux-npu-driver) and npu-monitor (edge-ai-libraries, npu_monitor.py).
// Reading does not wake the NPU: the memory belongs to another device.
class NpuTelemetry {
 public:
  static constexpr double kEnergyUnit = 1.0 / (1 << 14);  // joules; the value is a fixed-point number U32.18.14
  static constexpr std::uint64_t kEnergyRange = std::uint64_t{1} << 32;  // the count wraps around here

  explicit NpuTelemetry(const Directory& sys) : sys_(sys) {}

  struct Values {
    std::uint64_t energy = 0;  // in kEnergyUnit, below kEnergyRange
    Celsius temperature;
  };
  // Absent{hardware}: no region has a known layout.
  Reading<Values> read() {
    if (schedule_.due(!path_.empty())) find();
    if (path_.empty()) return Absent{Reason::hardware};
    std::array<char, kMostTelemetryBytes> buffer;
    const auto region = sys_.read_start(path_, buffer);
    if (!region) return region.propagate<Values>();
    if (region->size() < layout_.energy + kField) return Failure{std::make_error_code(std::errc::bad_message), path_};
    return Values{field(*region, layout_.energy) % kEnergyRange,
                  Celsius{static_cast<double>(field(*region, layout_.temperatures) >> kTemperatureBit & 0xff)}};
  }

 private:
  static constexpr std::string_view kTelemetryClass = "class/intel_pmt";
  static constexpr std::size_t kField = 8;                   // bytes
  static constexpr std::size_t kMostTelemetryBytes = 0x680;  // beyond every field of the known layouts
  static constexpr unsigned kTemperatureBit = 40;            // of the field, eight bits wide

  static std::uint64_t field(std::string_view region, std::size_t at) {
    std::uint64_t value = 0;
    for (std::size_t i = kField; i-- > 0;) value = value << 8 | static_cast<unsigned char>(region[at + i]);
    return value;
  }

  struct Layout {
    std::size_t energy = 0, temperatures = 0;  // bytes from the start of the region
  };
  void find() {
    path_.clear();
    const auto listed = sys_.for_each(kTelemetryClass, [&](std::string_view name) {
      if (!name.starts_with("telem")) return true;
      const std::string folder = std::string(kTelemetryClass) + "/" + std::string(name);
      std::array<char, 32> buffer;
      const auto text = sys_.read(folder + "/guid", buffer);
      const auto guid = text ? scan_hex(trim(*text)) : std::nullopt;
      const Layout layout = guid ? layout_of(*guid) : Layout();
      if (layout.energy == 0) return true;
      layout_ = layout;
      path_ = folder + "/telem";
      return false;
    });
    if (!listed) path_.clear();
  }
  static Layout layout_of(std::uint64_t guid) {
    switch (guid) {
      case 0x130670b2:  // Meteor Lake
      case 0x1306a0b2:  // Arrow Lake, H
      case 0x1306a0b3:
      case 0x1306a0b4:  // S
        return {0x628, 0x98};
      case 0x3072005:  // Lunar Lake
        return {0x5d0, 0x70};
      case 0x3086000:  // Panther Lake
        return {0x670, 0x78};
      default: return {};
    }
  }

  const Directory& sys_;
  ScanSchedule schedule_;
  std::string path_;  // "" unless a region was found
  Layout layout_;
};

}  // namespace igpu
