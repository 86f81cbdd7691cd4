// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/scan.h"
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
  SleepingGpus(const Directory& sys, std::span<const std::string> asleep);

  // While an xe GPU sleeps, only files that are known to belong to another GPU may be read.
  bool has_sleeping_xe() const { return has_sleeping_xe_; }
  bool all_asleep() const { return awake_nodes_.empty(); }
  bool is_asleep(std::string_view address) const;
  // target: the target of the link /proc/<pid>/fd/<fd>.
  bool is_awake_node(std::string_view target) const;
  bool is_awake_number(const DeviceNumber& number) const;

 private:
  void add_node(const Directory& sys, std::string_view name, std::vector<std::string_view>& i915_addresses);
  void add_awake(const Directory& sys, const std::string& path);

  std::span<const std::string> asleep_;
  std::vector<std::string> awake_nodes_;
  std::vector<DeviceNumber> awake_numbers_;
  bool has_sleeping_xe_ = false;
};

}  // namespace igpu
