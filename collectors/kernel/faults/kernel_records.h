// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "igpu/units.h"

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

// A record of /dev/kmsg (Documentation/ABI/testing/dev-kmsg):
//   6,1234,987654321,-;xe 0000:03:00.0: [drm] GT0: reset started\n SUBSYSTEM=pci\n DEVICE=+pci:0000:03:00.0\n
// The members are views into the record. In its text, unprintable bytes and backslashes are written as \xNN.
struct KernelLogRecord {
  unsigned facility = 0;  // not 0: written by a program
  std::uint64_t sequence = 0;
  Nanoseconds time{};  // since boot, on a clock near CLOCK_MONOTONIC
  std::string_view text;
  std::string_view pci_device;  // address of the pair DEVICE=+pci:...; "" without one
};

std::optional<KernelLogRecord> parse_kernel_log_record(std::string_view record);

// The text with each \xNN replaced by its byte.
std::string unescaped_log_text(std::string_view text);

}  // namespace igpu
