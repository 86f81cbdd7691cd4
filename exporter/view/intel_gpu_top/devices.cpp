// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "text/text.h"
#include "view/intel_gpu_top/intel_gpu_top_arguments.h"

namespace igpu::exporter {
namespace {

constexpr std::uint16_t kIntel = 0x8086, kAmd = 0x1002;
// More is cut off, as by the original.
constexpr std::size_t kLongestClass = 31, kLongestData = 255;
constexpr std::size_t kLongestShown = 300;  // of a filter, in messages

struct CodenameRange {
  std::uint16_t first, last;
  Codename codename;
};

// The first match counts: narrow ranges come first.
constexpr CodenameRange kCodenames[] = {
    {0x0155, 0x0155, {"valleyview", 7}},    {0x0157, 0x0157, {"valleyview", 7}},
    {0x0102, 0x0126, {"sandybridge", 6}},   {0x0152, 0x016a, {"ivybridge", 7}},
    {0x0f30, 0x0f33, {"valleyview", 7}},    {0x0a84, 0x0a84, {"broxton", 9}},
    {0x1a84, 0x1a85, {"broxton", 9}},       {0x5a84, 0x5a85, {"broxton", 9}},
    {0x0402, 0x042e, {"haswell", 7}},       {0x0a02, 0x0a2e, {"haswell", 7}},
    {0x0c02, 0x0c2e, {"haswell", 7}},       {0x0d02, 0x0d2e, {"haswell", 7}},
    {0x1602, 0x163e, {"broadwell", 8}},     {0x22b0, 0x22b3, {"cherryview", 8}},
    {0x1902, 0x193d, {"skylake", 9}},       {0x3184, 0x3185, {"geminilake", 9}},
    {0x87ca, 0x87ca, {"coffeelake", 9}},    {0x5902, 0x593b, {"kabylake", 9}},
    {0x87c0, 0x87c0, {"kabylake", 9}},      {0x3e90, 0x3eab, {"coffeelake", 9}},
    {0x9b21, 0x9bf6, {"cometlake", 9}},     {0x5a40, 0x5a5c, {"cannonlake", 10}},
    {0x8a50, 0x8a71, {"icelake", 11}},      {0x4541, 0x4571, {"elkhartlake", 11}},
    {0x4e51, 0x4e71, {"jasperlake", 11}},   {0x9a40, 0x9af8, {"tigerlake", 12}},
    {0x4c80, 0x4c9a, {"rocketlake", 12}},   {0x4905, 0x4909, {"dg1", 12}},
    {0x4680, 0x4693, {"alderlake_s", 12}},  {0x46a0, 0x46c3, {"alderlake_p", 12}},
    {0x46d0, 0x46d4, {"alderlake_n", 12}},  {0xa780, 0xa78b, {"raptorlake_s", 12}},
    {0xa720, 0xa7ad, {"alderlake_p", 12}},  {0x56c0, 0x56c2, {"ats_m", 12}},
    {0x4f80, 0x4f88, {"dg2", 12}},          {0x5690, 0x56bf, {"dg2", 12}},
    {0x0bd0, 0x0be5, {"pontevecchio", 12}}, {0x0b69, 0x0b6e, {"pontevecchio", 12}},
    {0x7d40, 0x7dd5, {"meteorlake", 12}},   {0xb640, 0xb640, {"meteorlake", 12}},
    {0x6420, 0x64b0, {"lunarlake", 20}},    {0xe202, 0xe223, {"battlemage", 20}},
    {0xb080, 0xb0ff, {"pantherlake", 30}},
};

std::optional<std::uint16_t> id_of(std::string_view text) {
  return text.size() == 4 ? number_of<std::uint16_t>(text, 16) : std::nullopt;
}

// "Intel Dg2 (Gen12)", "10de:2204".
std::string description(const DrmDevice& device) {
  const Codename codename = device.vendor == kIntel ? igt_codename(device.device) : Codename();
  if (codename.name.empty()) return formatted("%04x:%04x", device.vendor, device.device);
  std::string name(codename.name);
  name.front() = static_cast<char>(name.front() - 'a' + 'A');
  return "Intel " + name + " (Gen" + std::to_string(codename.generation) + ")";
}

using Keys = std::map<std::string, std::string, std::less<>>;

// "vendor=8086,card=0".
Keys keys_of(std::string_view data) {
  Keys keys;
  while (!data.empty()) {
    std::string_view value = take_until(data, ',');
    const std::string_view key = take_until(value, '=');
    keys.insert_or_assign(std::string(key), std::string(value));
  }
  return keys;
}

bool has_vendor(const DrmDevice& device, const std::string& wanted) {
  if (wanted == "intel") return device.vendor == kIntel;
  if (wanted == "amd") return device.vendor == kAmd;
  return id_of(wanted) == device.vendor;
}

bool is_device(const DrmDevice& device, const std::string& wanted) {
  if (wanted == "integrated") return device.kind == GpuKind::integrated;
  if (wanted == "discrete") return device.kind == GpuKind::discrete;
  if (const auto id = id_of(wanted)) return id == device.device;
  return device.vendor == kIntel && !wanted.empty() && igt_codename(device.device).name == wanted;
}

const DrmDevice* by_pci(std::span<const DrmDevice> devices, const Keys& keys) {
  const auto card = keys.find("card");
  std::optional<std::size_t> number = 0;
  if (card != keys.end()) number = number_of<std::size_t>(card->second);
  if (!number) return nullptr;
  const auto vendor = keys.find("vendor"), id = keys.find("device"), slot = keys.find("slot");
  for (const DrmDevice& device : devices) {
    if (slot != keys.end() && slot->second != device.address) continue;
    if (vendor != keys.end() && !has_vendor(device, lower(vendor->second))) continue;
    if (id != keys.end() && !is_device(device, lower(id->second))) continue;
    if ((*number)-- == 0) return &device;
  }
  return nullptr;
}

bool has_path(const DrmDevice& device, std::string_view path) {
  return path == device.path || (!device.card.empty() && path == device.path + "/drm/" + device.card);
}

bool has_node(const DrmDevice& device, std::string_view node) {
  constexpr std::string_view kFolder = "/dev/dri/";
  if (!node.starts_with(kFolder) || node == kFolder) return false;
  node.remove_prefix(kFolder.size());
  return node == device.card || node == device.render_node;
}

}  // namespace

Codename igt_codename(std::uint16_t device_id) {
  for (const CodenameRange& range : kCodenames)
    if (device_id >= range.first && device_id <= range.last) return range.codename;
  return {};
}

std::vector<DrmDevice> drm_devices(std::span<const DisplayDevice> all, std::span<const Gpu> gpus) {
  std::vector<DrmDevice> devices;
  for (const DisplayDevice& one : all) {
    DrmDevice& made = devices.emplace_back(
        DrmDevice{"/sys/" + one.pci_path, one.address, one.card, one.render_node, one.vendor, one.device_id});
    for (const Gpu& gpu : gpus)
      if (gpu.address == one.address) made.kind = gpu.kind;
  }
  std::ranges::sort(devices, {}, &DrmDevice::path);
  return devices;
}

std::string device_list(std::span<const DrmDevice> devices) {
  if (devices.empty()) return "No GPU devices found\n";
  std::string out;
  for (const DrmDevice& device : devices) {
    const auto same = std::count_if(devices.data(), &device, [&](const DrmDevice& one) {
      return one.vendor == device.vendor && one.device == device.device;
    });
    out += padded(device.card.empty() ? device.render_node : device.card, 24) + ' ' + padded(description(device), 30) +
           formatted("    pci:vendor=%04X,device=%04X,card=%td\n", device.vendor, device.device, same);
    if (!device.card.empty() && !device.render_node.empty()) out += "└─" + padded(device.render_node, 22) + '\n';
  }
  return out;
}

ChosenDevice choose_device(std::span<const DrmDevice> devices, const std::optional<std::string>& filter) {
  if (!filter) {
    for (const GpuKind kind : {GpuKind::discrete, GpuKind::integrated})
      for (const DrmDevice& device : devices)
        if (device.kind == kind) return {&device, {}};
    return {nullptr, "No device filter specified and no discrete/integrated i915 devices found\n"};
  }
  const std::string shown = clean_text(*filter, kLongestShown);
  const std::string not_found = "Requested device " + shown + " not found!\n";
  const std::size_t colon = std::min(filter->find(':'), filter->size());
  if (colon == 0) return {nullptr, "Can't split filter [" + shown + "]\n" + not_found};
  const std::string_view type = std::string_view(*filter).substr(0, colon);
  std::string_view data = std::string_view(*filter).substr(std::min(colon + 1, filter->size()));
  data = data.substr(0, std::min(data.find_first_of(" \t\n"), kLongestData));
  const auto first = [&](auto matches) -> ChosenDevice {
    for (const DrmDevice& device : devices)
      if (matches(device, data)) return {&device, {}};
    return {nullptr, not_found};
  };
  if (colon <= kLongestClass && type == "sys") return first(has_path);
  if (colon <= kLongestClass && type == "drm") return first(has_node);
  if (type != "pci") return {nullptr, "No filter class matching [" + shown + "]\n" + not_found};
  const Keys keys = keys_of(data);
  if (keys.contains("slot") && (keys.contains("vendor") || keys.contains("device") || keys.contains("card")))
    return {nullptr, "Slot parameter can not be used with other parameters\n"};
  const DrmDevice* const device = by_pci(devices, keys);
  return {device, device == nullptr ? not_found : ""};
}

}  // namespace igpu::exporter
