// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

namespace igpu {

// A uevent of the kernel (lib/kobject_uevent.c): "change@/devices/..." and pairs KEY=VALUE, each terminated by a NUL.
// The members are views into the message.
struct Uevent {
  std::string_view action;  // "add", "change"
  std::string_view path;    // relative to the sysfs root: "devices/pci0000:00/0000:00:02.0/drm/card0"
  std::string_view pairs;

  // The value of the first pair with this key; nullopt: there is no such pair.
  std::optional<std::string_view> value(std::string_view key) const;
};

// nullopt for other messages, such as those of udev.
std::optional<Uevent> parse_uevent(std::string_view message);

}  // namespace igpu
