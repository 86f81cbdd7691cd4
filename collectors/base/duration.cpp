// SPDX-License-Identifier: Apache-2.0
#include "igpu/duration.h"

#include <array>
#include <charconv>

namespace igpu {
namespace {

struct UnitName {
  std::string_view name;
  double nanoseconds;
};
// Longer names first: "ms" must not be read as "m" and a rest.
constexpr std::array<UnitName, 6> kUnits{{{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}}};
constexpr double kMaximum = 366.0 * 24 * 3600e9;

}  // namespace

std::optional<Nanoseconds> parse_duration(std::string_view text) {
  if (text == "0") return Nanoseconds(0);
  if (text.empty()) return std::nullopt;
  double total = 0;
  while (!text.empty()) {
    double value = 0;
    // Fixed notation only: no exponent, no "inf".
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
    if (error != std::errc() || !(value >= 0) || text.front() < '0' || text.front() > '9') return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    const UnitName* unit = nullptr;
    for (const UnitName& candidate : kUnits) {
      if (text.starts_with(candidate.name)) {
        unit = &candidate;
        break;
      }
    }
    if (unit == nullptr) return std::nullopt;
    text.remove_prefix(unit->name.size());
    total += value * unit->nanoseconds;
    if (!(total <= kMaximum)) return std::nullopt;
  }
  return Nanoseconds(static_cast<Nanoseconds::rep>(total));
}

}  // namespace igpu
