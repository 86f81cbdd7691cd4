// SPDX-License-Identifier: Apache-2.0
#include "kernel/device/discovery.h"

#include <algorithm>
#include <array>

#include "base/scan.h"
#include "kernel/device/drm_nodes.h"

namespace igpu {

namespace {

Reading<std::string_view> read_text(const Directory& sys, const std::string& path, std::span<char> buffer) {
  return sys.read(path, buffer).map([](std::string_view text) { return trim(text); });
}

// Device ids that exist only on cards: DG1, DG2/ATS-M, Ponte Vecchio, Crescent Island, Battlemage
// (include/drm/intel/pciids.h).
bool is_card_id(std::uint16_t id) {
  struct Range {
    std::uint16_t first, last;
  };
  constexpr std::array<Range, 7> kRanges{{{0x4905, 0x4909},
                                          {0x4f80, 0x4f88},
                                          {0x5690, 0x56c2},
                                          {0x0bd0, 0x0be5},
                                          {0x0b69, 0x0b6e},
                                          {0x674c, 0x6750},
                                          {0xe202, 0xe223}}};
  return std::ranges::any_of(kRanges, [id](Range r) { return id >= r.first && id <= r.last; });
}

// Families of parts that are never on a card, by the first half of the id, from Sandy Bridge to Nova Lake (same file).
// In a virtual machine they, or their virtual functions, may sit behind a bridge.
bool is_processor_id(std::uint16_t id) {
  constexpr std::array<std::uint8_t, 27> kFamilies{0x01, 0x04, 0x0a, 0x0c, 0x0d, 0x0f, 0x16, 0x19, 0x1a,
                                                   0x22, 0x31, 0x3e, 0x45, 0x46, 0x4c, 0x4e, 0x59, 0x5a,
                                                   0x64, 0x7d, 0x87, 0x8a, 0x9a, 0x9b, 0xa7, 0xb0, 0xd7};
  return contains(kFamilies, id >> 8) || (id & 0xfff0) == 0xfd80;
}

// Inside a virtual machine a virtual function has no physfn. xe leaves out its PMU, hwmon, clocks and residency all at
// once only there: a driver without GuC's power conservation has a PMU, and an older one has clocks. i915-sriov-dkms
// says what it is.
bool is_virtual_function_of_another_machine(const Directory& sys, const Gpu& gpu) {
  const auto exists = [&](const std::string& path) { return static_cast<bool>(sys.stat(path)); };
  if (gpu.driver == Driver::i915) {
    std::array<char, 16> buffer;
    const auto mode = read_text(sys, gpu.pci_path + "/drm/" + gpu.card + "/prelim_iov/mode", buffer);
    return mode && *mode == "VF";
  }
  const std::string gt = gpu.pci_path + "/tile0/gt0";
  if (!exists(gt) || exists(gt + "/freq0") || exists(gt + "/gtidle") || exists(gpu.pci_path + "/hwmon")) return false;
  std::string pmu = "bus/event_source/devices/xe_" + gpu.address;
  std::ranges::replace(pmu, ':', '_');
  return !exists(pmu);
}

std::string name_of_id(const Machine& machine, std::uint16_t id) {
  const std::string name = machine.names.pci_device(0x8086, id);
  return name.empty() ? std::string(intel_gpu_name(id)) : name;
}

// The driver that has a device, "" without one; nullopt: it cannot be read now.
std::optional<std::string> driver_of(const Directory& sys, const std::string& address) {
  const auto link = sys.read_link("bus/pci/devices/" + address + "/driver");
  if (!link) return link.is_absent() ? std::optional<std::string>("") : std::nullopt;
  return std::string(last_part(*link));
}

// Whether i915 or xe drive it: it has a node, or is a card in survivability mode, which Discovery finds.
bool is_driven(const Directory& sys, const std::string& address, std::string_view driver) {
  if (driver != "i915" && driver != "xe") return false;
  const std::string path = "bus/pci/devices/" + address;
  bool has_node = static_cast<bool>(sys.stat(path + "/survivability_mode"));
  (void)sys.for_each(path + "/drm", [&](std::string_view name) {
    has_node = has_node || is_drm_node_name(name, "card") || is_drm_node_name(name, "renderD");
    return !has_node;
  });
  return has_node;
}

bool is_placeholder(const std::string& address, std::uint64_t device_id) {
  constexpr std::array<std::uint8_t, 7> kBeforeSandyBridge{0x25, 0x27, 0x29, 0x2a, 0x2e, 0x35, 0xa0};
  return !address.ends_with(".0") && contains(kBeforeSandyBridge, device_id >> 8);
}

std::uint16_t read_id(const Directory& sys, const std::string& path) {
  std::array<char, 64> buffer;
  const auto text = sys.read(path, buffer);
  return text ? scan_integer<std::uint16_t>(*text, 16).value_or(0) : 0;
}

}  // namespace

GpuKind gpu_kind(std::string_view pci_path, std::uint16_t device_id) {
  if (is_card_id(device_id)) return GpuKind::discrete;
  if (is_processor_id(device_id)) return GpuKind::integrated;
  // devices/pci0000:00/0000:00:02.0 has one function below the host bridge; anything deeper is behind a bridge.
  // Without an id it may be a card that is being removed, which must not be mistaken for the integrated GPU: that one
  // has the processor's PMUs.
  if (device_id == 0 && last_part(pci_path) != "0000:00:02.0") return GpuKind::discrete;
  std::size_t functions = 0;
  while (!pci_path.empty())
    if (is_pci_address(take_until(pci_path, '/'))) ++functions;
  return functions > 1 ? GpuKind::discrete : GpuKind::integrated;
}

Discovery::Discovery(Machine& machine, std::vector<std::string> selection)
    : machine_(machine), selection_(std::move(selection)) {}

// xe holds a card whose firmware failed at boot without making DRM nodes for it (xe_survivability_mode.c). Other
// devices that it holds without a node are still being bound.
void Discovery::add_without_node(std::vector<Gpu>& found) {
  note(machine_.sys.for_each("bus/pci/drivers/xe", [&](std::string_view name) {
    const auto same = [&](const Gpu& gpu) { return gpu.address == name; };
    if (!is_pci_address(name) || std::ranges::any_of(found, same)) return true;
    const std::string link = "bus/pci/devices/" + std::string(name);
    const auto mode = machine_.sys.stat(link + "/survivability_mode");
    if (!mode) return true;
    const auto path = machine_.sys.resolve(link);
    if (!path) return true;
    Gpu gpu;
    gpu.address = std::string(name);
    gpu.pci_path = *path;
    gpu.binding = mode->inode;
    found.push_back(std::move(gpu));
    return true;
  }));
}

bool Discovery::describe(Gpu& gpu) const {
  std::array<char, 256> buffer;
  const Directory& sys = machine_.sys;
  const std::string base = gpu.pci_path + "/";
  const auto vendor = read_text(sys, base + "vendor", buffer);
  if (!vendor || scan_hex(*vendor) != 0x8086u) return false;
  const auto driver = sys.read_link(base + "driver");
  if (!driver) return false;
  const std::string_view driver_name = last_part(*driver);
  if (driver_name == "i915") {
    gpu.driver = Driver::i915;
  } else if (driver_name == "xe") {
    gpu.driver = Driver::xe;
  } else {
    return false;
  }
  if (const auto text = read_text(sys, base + "device", buffer))
    gpu.device_id = scan_integer<std::uint16_t>(*text, 16).value_or(0);
  if (const auto text = read_text(sys, base + "revision", buffer)) gpu.revision = scan_integer<std::uint8_t>(*text, 16);
  if (const auto text = read_text(sys, base + "numa_node", buffer))
    gpu.numa_node = scan_integer<int>(*text).value_or(-1);
  gpu.virtual_function =
      static_cast<bool>(sys.read_link(base + "physfn")) || is_virtual_function_of_another_machine(sys, gpu);
  gpu.kind = gpu_kind(gpu.pci_path, gpu.device_id);
  gpu.name = name_of_id(machine_, gpu.device_id);
  return true;
}

bool Discovery::selected(const Gpu& gpu) const {
  return selection_.empty() ||
         std::ranges::any_of(selection_, [&](const std::string& wanted) { return is_named(gpu, wanted); });
}

// A selection by address that is complete cannot grow, so the nodes of other devices need not be listed. The driver
// makes a card's folder last and removes it first: while it is the same one, the binding and its render node are, too.
bool Discovery::all_selected_unchanged() const {
  if (selection_.empty() || gpus_.size() != selection_.size()) return false;
  return std::ranges::all_of(gpus_, [&](const Gpu& gpu) {
    if (gpu.card.empty() || gpu.render_node.empty()) return false;
    if (!contains(selection_, gpu.address)) return false;
    const auto drm = machine_.sys.stat("class/drm/" + gpu.card);  // a link to the folder
    return drm && drm->inode == gpu.binding;
  });
}

// Where adapters have no functions to be listed by there are none.
const std::vector<Gpu>& Discovery::discover_adapters() {
  const auto found = adapter_gpus(*machine_.adapters);
  note(found);
  if (failure_) return gpus_;
  gpus_ = found.value_or({});
  std::erase_if(gpus_, [this](const Gpu& gpu) { return !selected(gpu); });
  return gpus_;
}

const std::vector<Gpu>& Discovery::discover() {
  failure_.reset();
  if (machine_.adapters) return discover_adapters();
  if (all_selected_unchanged()) return gpus_;
  std::vector<Gpu> found;
  for (const DrmNodeName& node : drm_nodes(machine_.sys, [this](const auto& reading) { note(reading); })) {
    auto at = std::ranges::find(found, node.pci_path, &Gpu::pci_path);
    if (at == found.end()) {
      Gpu gpu;
      gpu.pci_path = node.pci_path;
      gpu.address = std::string(last_part(node.pci_path));
      // The driver makes this directory when it binds, so its inode distinguishes one binding from the next.
      const auto drm = machine_.sys.stat(gpu.pci_path + "/drm/" + node.name);
      note(drm);
      if (!drm) continue;
      gpu.binding = drm->inode;
      found.push_back(std::move(gpu));
      at = found.end() - 1;
    }
    add_node(*at, node.name);
  }
  add_without_node(found);
  if (failure_) return gpus_;  // a failed scan proves nothing
  std::vector<Gpu> gpus;
  for (Gpu& gpu : found) {
    const auto known = std::ranges::find_if(gpus_, [&](const Gpu& old) {
      return old.pci_path == gpu.pci_path && old.binding == gpu.binding && old.card == gpu.card &&
             old.render_node == gpu.render_node;
    });
    if (known != gpus_.end()) {
      gpus.push_back(*known);
    } else if (selected(gpu) && describe(gpu)) {
      gpus.push_back(std::move(gpu));
    }
  }
  std::ranges::sort(gpus, {}, &Gpu::address);
  gpus_ = std::move(gpus);
  return gpus_;
}

bool UnboundGpu::is_guests() const {
  return driver.find("vfio") != std::string::npos || driver == "pciback" || driver == "pci-stub";
}

Reading<std::vector<UnboundGpu>> find_unbound_gpus(const Machine& machine) {
  const Directory& sys = machine.sys;
  std::vector<UnboundGpu> gpus;
  const auto listed = sys.for_each("bus/pci/devices", [&](std::string_view name) {
    if (is_pci_address(name)) gpus.push_back({.address = std::string(name)});
    return true;
  });
  if (listed.is_failure()) return listed.failure();
  std::erase_if(gpus, [&](UnboundGpu& gpu) {
    const std::string path = "bus/pci/devices/" + gpu.address;
    std::array<char, 32> buffer;
    const auto number = [&](const char* file) {
      const auto text = read_text(sys, path + file, buffer);
      return text ? scan_hex(*text).value_or(0) : 0;
    };
    constexpr std::uint64_t kDisplay = 0x03;  // include/linux/pci_ids.h
    if (number("/class") >> 16 != kDisplay || number("/vendor") != 0x8086) return true;
    const std::uint64_t id = number("/device");
    const auto driver = driver_of(sys, gpu.address);
    if (!driver || is_driven(sys, gpu.address, *driver) || is_placeholder(gpu.address, id)) return true;
    if (sys.read_link(path + "/physfn")) return true;
    gpu.driver = *driver;
    gpu.name = name_of_id(machine, static_cast<std::uint16_t>(id));
    gpu.device_id = read_text(sys, path + "/device", buffer).value_or("");
    return false;
  });
  std::ranges::sort(gpus, {}, &UnboundGpu::address);
  return gpus;
}

bool is_still_unbound(const Directory& sys, const UnboundGpu& gpu) {
  return sys.stat("bus/pci/devices/" + gpu.address) && driver_of(sys, gpu.address) == gpu.driver;
}

std::vector<DisplayDevice> display_devices(const Directory& sys) {
  std::vector<DisplayDevice> devices;
  for (const DrmNodeName& node : drm_nodes(sys, [](const auto&) {})) {
    auto at = std::ranges::find(devices, node.pci_path, &DisplayDevice::pci_path);
    if (at == devices.end()) {
      devices.push_back({.address = std::string(last_part(node.pci_path)),
                         .pci_path = node.pci_path,
                         .vendor = read_id(sys, node.pci_path + "/vendor"),
                         .device_id = read_id(sys, node.pci_path + "/device")});
      at = devices.end() - 1;
    }
    add_node(*at, node.name);
  }
  std::erase_if(devices, [](const DisplayDevice& device) { return device.vendor == 0; });
  return devices;
}

bool is_named(const Gpu& gpu, std::string_view name) {
  return !name.empty() && (name == gpu.address || name == gpu.card || name == gpu.render_node);
}

std::string list_of(const std::vector<Gpu>& gpus) {
  std::string text;
  for (const Gpu& gpu : gpus) {
    text += (text.empty() ? "" : ", ") + gpu.address;
    if (!gpu.card.empty()) text += " (" + gpu.card + (gpu.render_node.empty() ? "" : ", " + gpu.render_node) + ")";
  }
  return text;
}

}  // namespace igpu
