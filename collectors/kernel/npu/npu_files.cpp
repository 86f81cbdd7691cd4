// SPDX-License-Identifier: Apache-2.0
#include "kernel/npu/npu_files.h"

#include <array>
#include <string_view>
#include <system_error>

#include "base/scan.h"

namespace igpu {

NpuFiles::NpuFiles(const Directory& sys, const std::string& pci_path)
    : busy_(sys, pci_path + "/npu_busy_time_us"),
      memory_(sys, pci_path + "/npu_memory_utilization"),
      current_(sys, pci_path + "/freq/current_freq"),
      old_current_(sys, pci_path + "/npu_current_frequency_mhz"),
      highest_(sys, pci_path + "/freq/hw_max_freq"),
      old_highest_(sys, pci_path + "/npu_max_frequency_mhz"),
      power_(sys, pci_path) {}

Reading<Bytes> NpuFiles::resident_memory() {
  return memory_.number().map([](std::uint64_t bytes) { return Bytes{static_cast<double>(bytes)}; });
}

Reading<Hertz> NpuFiles::first_of(Attribute& first, Attribute& second) {
  constexpr double kMegahertz = 1e6;
  auto read = first.number();
  if (read.is_absent()) read = second.number();
  return read.map([](std::uint64_t megahertz) { return Hertz{static_cast<double>(megahertz) * kMegahertz}; });
}

namespace {

constexpr std::string_view kTelemetryClass = "class/intel_pmt";
constexpr std::size_t kField = 8;                   // bytes
constexpr std::size_t kMostTelemetryBytes = 0x680;  // beyond every field of the known layouts
constexpr unsigned kTemperatureBit = 40;            // of the field, eight bits wide

std::uint64_t field(std::string_view region, std::size_t at) {
  std::uint64_t value = 0;
  for (std::size_t i = kField; i-- > 0;) value = value << 8 | static_cast<unsigned char>(region[at + i]);
  return value;
}

}  // namespace

NpuTelemetry::Layout NpuTelemetry::layout_of(std::uint64_t guid) {
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
    default:
      return {};
  }
}

void NpuTelemetry::find() {
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

Reading<NpuTelemetry::Values> NpuTelemetry::read() {
  if (schedule_.due(!path_.empty())) find();
  if (path_.empty()) return Absent{Reason::hardware};
  std::array<char, kMostTelemetryBytes> buffer;
  const auto region = sys_.read_start(path_, buffer);
  if (!region) return region.propagate<Values>();
  if (region->size() < layout_.energy + kField) return Failure{std::make_error_code(std::errc::bad_message), path_};
  return Values{field(*region, layout_.energy) % kEnergyRange,
                Celsius{static_cast<double>(field(*region, layout_.temperatures) >> kTemperatureBit & 0xff)}};
}

}  // namespace igpu
