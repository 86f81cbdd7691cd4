// SPDX-License-Identifier: Apache-2.0
#include "kernel/faults/uevent.h"

#include "base/scan.h"

namespace igpu {

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
