// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "machine/filesystem.h"

// How a file descriptor of a process shows that it may be an open DRM node.
namespace igpu {

inline constexpr std::uint64_t kDrmMajor = 226;  // Documentation/admin-guide/devices.txt

// A device number as stat(2) reports it.
constexpr std::uint64_t major_of(std::uint64_t device) { return (device >> 8 & 0xfff) | (device >> 32 & 0xfffff000); }
constexpr std::uint64_t minor_of(std::uint64_t device) { return (device & 0xff) | (device >> 12 & 0xffffff00); }

constexpr bool is_drm_node(const FileFacts& file) {
  constexpr std::uint32_t kType = 0170000, kCharacterDevice = 0020000;
  return (file.mode & kType) == kCharacterDevice && major_of(file.rdev) == kDrmMajor;
}

constexpr std::string_view last_part(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// Whether a path has the name of a DRM node. Containers may have the nodes outside /dev/dri, usually under the same
// names.
constexpr bool has_node_name(std::string_view path) {
  const std::string_view name = last_part(path);
  return name.starts_with("card") || name.starts_with("renderD");
}

// A device that may be a DRM node under another name. Only in /dev, which is the kernel's own file system: examining
// files elsewhere could hang with their file system.
constexpr bool may_be_renamed_node(std::string_view path) {
  return path.starts_with("/dev/") && path != "/dev/null" && !path.starts_with("/dev/pts/") &&
         !path.starts_with("/dev/shm/");
}

}  // namespace igpu
