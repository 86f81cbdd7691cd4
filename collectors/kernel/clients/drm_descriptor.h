// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/scan.h"
#include "igpu/words.h"
#include "kernel/clients/fdinfo_text.h"
#include "kernel/device/drm_nodes.h"
#include "kernel/device/npus.h"
#include "machine/filesystem.h"

// How a file descriptor of a process shows that it may be an open DRM node, of a GPU or of an accelerator.
namespace igpu {

// Documentation/admin-guide/devices.txt
inline constexpr std::uint32_t kDrmMajor = 226;
inline constexpr std::uint32_t kAccelMajor = 261;

// A device number as stat(2) reports it.
constexpr std::uint64_t major_of(std::uint64_t device) { return (device >> 8 & 0xfff) | (device >> 32 & 0xfffff000); }
constexpr std::uint64_t minor_of(std::uint64_t device) { return (device & 0xff) | (device >> 12 & 0xffffff00); }

struct DeviceNumber {
  std::uint64_t major = 0, minor = 0;
  bool operator==(const DeviceNumber&) const = default;
};
// The device number of a character device; nullopt for other files.
constexpr std::optional<DeviceNumber> character_device(const FileFacts& file) {
  constexpr std::uint32_t kType = 0170000, kCharacterDevice = 0020000;
  if ((file.mode & kType) != kCharacterDevice) return std::nullopt;
  return DeviceNumber{major_of(file.rdev), minor_of(file.rdev)};
}

// The content of a sysfs file "dev": "226:128". nullopt if it cannot be read or is malformed.
inline std::optional<DeviceNumber> device_number(const Directory& sys, const std::string& path) {
  std::array<char, 32> buffer;
  const auto text = sys.read(path, buffer);
  if (!text) return std::nullopt;
  std::string_view minor = trim(*text);
  const auto major = scan_u64(take_until(minor, ':'));
  const auto rest = scan_u64(minor);
  return major && rest ? std::optional(DeviceNumber{*major, *rest}) : std::nullopt;
}

constexpr bool is_drm_node(const FileFacts& file) {
  const auto device = character_device(file);
  return device && (device->major == kDrmMajor || device->major == kAccelMajor);
}

constexpr bool is_accel_name(std::string_view name) {
  constexpr std::string_view kAccel = "accel";
  return name.size() > kAccel.size() && name.starts_with(kAccel) &&
         name.substr(kAccel.size()).find_first_not_of("0123456789") == std::string_view::npos;
}

// Whether a path has the name of a DRM node. Containers may have the nodes outside /dev/dri, usually under the same
// names.
constexpr bool has_node_name(std::string_view path) {
  const std::string_view name = last_part(path);
  return name.starts_with("card") || name.starts_with("renderD") || is_accel_name(name);
}

// Whether a path may be a DRM node under another name. Only paths in /dev, which is the kernel's own file system:
// examining files elsewhere could hang with their file system.
constexpr bool may_be_renamed_node(std::string_view path) {
  return path.starts_with("/dev/") && path != "/dev/null" && !path.starts_with("/dev/pts/") &&
         !path.starts_with("/dev/shm/");
}

// Decides which fdinfo files may be read while GPUs sleep: reading the fdinfo of an xe client resumes its GPU. Reading
// the fdinfo of an NPU's client resumes nothing, so nodes of NPUs always count as awake.
class SleepingGpus {
 public:
  SleepingGpus() = default;
  // asleep: PCI addresses; must outlive the object.
  SleepingGpus(const Directory& sys, std::span<const std::string> asleep) : asleep_(asleep) {
    if (asleep.empty()) return;
    std::vector<std::string_view> i915_addresses;  // reading an i915 client only touches memory
    (void)sys.for_each("class/drm", [&](std::string_view name) {
      add_node(sys, name, i915_addresses);
      return true;
    });
    (void)sys.for_each("class/accel", [&](std::string_view name) {
      const std::string path = "class/accel/" + std::string(name);
      const auto driver = sys.read_link(path + "/device/driver");
      if (driver && last_part(*driver) == kNpuDriver) add_awake(sys, path);
      return true;
    });
    has_sleeping_xe_ =
        std::ranges::any_of(asleep, [&](const std::string& address) { return !contains(i915_addresses, address); });
  }

  // While an xe GPU sleeps, only files that are known to belong to another GPU may be read.
  bool has_sleeping_xe() const { return has_sleeping_xe_; }
  bool all_asleep() const { return awake_nodes_.empty(); }
  bool is_asleep(std::string_view address) const { return contains(asleep_, address); }
  // target: the target of the link /proc/<pid>/fd/<fd>.
  bool is_awake_node(std::string_view target) const {
    return target.starts_with('/') && contains(awake_nodes_, last_part(target));
  }
  bool is_awake_number(const DeviceNumber& number) const { return contains(awake_numbers_, number); }

 private:
  void add_node(const Directory& sys, std::string_view name, std::vector<std::string_view>& i915_addresses) {
    const bool is_node =
        (name.starts_with("card") || name.starts_with("renderD")) && name.find('-') == std::string_view::npos;
    if (!is_node) return;
    // "../../devices/pci0000:00/0000:00:02.0/drm/card1"
    const auto link = sys.read_link("class/drm/" + std::string(name));
    if (!link) return;
    const std::string device = pci_path_of_link(*link);
    if (device.empty()) return;
    const auto driver_link = sys.read_link(device + "/driver");
    const auto driver = driver_link ? intel_driver(last_part(*driver_link)) : std::nullopt;
    if (!driver) return;
    const auto sleeper = std::ranges::find(asleep_, last_part(device));
    if (sleeper == asleep_.end()) {
      add_awake(sys, "class/drm/" + std::string(name));
    } else if (driver == Driver::i915) {
      i915_addresses.push_back(*sleeper);
    }
  }
  void add_awake(const Directory& sys, const std::string& path) {
    awake_nodes_.emplace_back(last_part(path));
    if (const auto number = device_number(sys, path + "/dev")) awake_numbers_.push_back(*number);
  }

  std::span<const std::string> asleep_;
  std::vector<std::string> awake_nodes_;
  std::vector<DeviceNumber> awake_numbers_;
  bool has_sleeping_xe_ = false;
};

}  // namespace igpu
