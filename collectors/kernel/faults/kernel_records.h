// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "base/scan.h"
#include "igpu/units.h"

namespace igpu {

// A uevent of the kernel (lib/kobject_uevent.c): "change@/devices/..." and pairs KEY=VALUE, each terminated by a NUL.
// The members are views into the message.
struct Uevent {
  std::string_view action;  // "add", "change"
  std::string_view path;    // relative to the sysfs root: "devices/pci0000:00/0000:00:02.0/drm/card0"
  std::string_view pairs;

  // The value of the first pair with this key; nullopt: there is no such pair.
  std::optional<std::string_view> value(std::string_view key) const {
    std::string_view rest = pairs;
    while (!rest.empty()) {
      std::string_view pair = take_until(rest, '\0');
      const bool has_value = pair.find('=') != std::string_view::npos;
      if (take_until(pair, '=') == key && has_value) return pair;
    }
    return std::nullopt;
  }
};

// nullopt for other messages, such as those of udev.
inline std::optional<Uevent> parse_uevent(std::string_view message) {
  Uevent event;
  event.pairs = message;
  std::string_view head = take_until(event.pairs, '\0');
  const std::size_t at = head.find("@/");
  if (at == 0 || at == std::string_view::npos) return std::nullopt;
  event.action = head.substr(0, at);
  event.path = head.substr(at + 2);
  if (event.path.empty() || event.pairs.empty()) return std::nullopt;
  return event;
}

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

inline std::optional<KernelLogRecord> parse_kernel_log_record(std::string_view record) {
  std::string_view dictionary = record;
  std::string_view text = take_line(dictionary);
  const std::size_t semicolon = text.find(';');
  if (semicolon == std::string_view::npos) return std::nullopt;
  std::string_view head = text.substr(0, semicolon);
  const auto priority = scan_integer<unsigned>(take_until(head, ','));
  const auto sequence = scan_u64(take_until(head, ','));
  const auto microseconds = scan_u64(take_until(head, ','));
  constexpr std::uint64_t kLatest = std::numeric_limits<Nanoseconds::rep>::max() / 1000;
  if (!priority || !sequence || !microseconds || *microseconds > kLatest) return std::nullopt;
  KernelLogRecord parsed;
  parsed.facility = *priority >> 3U;
  parsed.sequence = *sequence;
  parsed.time = std::chrono::microseconds(*microseconds);
  parsed.text = text.substr(semicolon + 1);
  constexpr std::string_view kDevice = " DEVICE=+pci:";
  while (!dictionary.empty()) {
    const std::string_view line = take_line(dictionary);
    if (line.starts_with(kDevice)) parsed.pci_device = line.substr(kDevice.size());
  }
  return parsed;
}

// The text with each \xNN replaced by its byte.
inline std::string unescaped_log_text(std::string_view text) {
  constexpr std::size_t kEscape = 4;  // \xNN
  std::string out;
  while (!text.empty()) {
    if (text.starts_with("\\x") && text.size() >= kEscape) {
      if (const auto byte = scan_integer<std::uint8_t>(text.substr(2, 2), 16)) {
        out += static_cast<char>(*byte);
        text.remove_prefix(kEscape);
        continue;
      }
    }
    out += text.front();
    text.remove_prefix(1);
  }
  return out;
}

}  // namespace igpu
