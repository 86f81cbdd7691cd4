// SPDX-License-Identifier: Apache-2.0
#include "kernel/faults/kernel_records.h"

#include <limits>

#include "base/scan.h"

namespace igpu {

std::optional<KernelLogRecord> parse_kernel_log_record(std::string_view record) {
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

std::string unescaped_log_text(std::string_view text) {
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

std::optional<std::string_view> Uevent::value(std::string_view key) const {
  std::string_view rest = pairs;
  while (!rest.empty()) {
    std::string_view pair = take_until(rest, '\0');
    const bool has_value = pair.find('=') != std::string_view::npos;
    if (take_until(pair, '=') == key && has_value) return pair;
  }
  return std::nullopt;
}

std::optional<Uevent> parse_uevent(std::string_view message) {
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

}  // namespace igpu
