// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <string_view>

// Quantities in base units. Native units of the kernel (microjoules, MHz, ticks, millidegrees) stop in kernel/;
// from there on a quantity is one of these types, and a metric accepts only its own unit.
namespace igpu {

// Time on CLOCK_MONOTONIC. All windows and deltas use it.
using Nanoseconds = std::chrono::nanoseconds;

template <class Tag>
struct Quantity {
  double value = 0;
  static constexpr std::string_view kSuffix = Tag::kSuffix;  // suffix of a metric's name; "" for a plain number
  constexpr auto operator<=>(const Quantity&) const = default;
};

namespace unit {
template <std::size_t Size>
struct Suffix {
  // NOLINTNEXTLINE(google-explicit-constructor): a template's argument is the literal itself
  consteval Suffix(const char (&suffix)[Size]) { std::copy_n(suffix, Size, text); }
  char text[Size];
};
template <Suffix S>
struct Named {
  static constexpr std::string_view kSuffix{S.text};
};
struct Seconds : Named<"seconds"> {};
struct Bytes : Named<"bytes"> {};
struct BytesPerSecond : Named<"bytes_per_second"> {};
struct Hertz : Named<"hertz"> {};
struct Joules : Named<"joules"> {};
struct Watts : Named<"watts"> {};
struct Celsius : Named<"celsius"> {};
struct Volts : Named<"volts"> {};
struct Amperes : Named<"amperes"> {};
struct Ratio : Named<"ratio"> {};
struct Rpm : Named<"rpm"> {};
struct Cycles : Named<"cycles"> {};
struct Ticks : Named<"ticks"> {};
struct Lanes : Named<"lanes"> {};
struct TransfersPerSecond : Named<"transfers_per_second"> {};
struct Count : Named<""> {};
struct Flag : Named<""> {};
}  // namespace unit

using Seconds = Quantity<unit::Seconds>;
using Bytes = Quantity<unit::Bytes>;
using BytesPerSecond = Quantity<unit::BytesPerSecond>;
using Hertz = Quantity<unit::Hertz>;
using Joules = Quantity<unit::Joules>;
using Watts = Quantity<unit::Watts>;
using Celsius = Quantity<unit::Celsius>;
using Volts = Quantity<unit::Volts>;
using Amperes = Quantity<unit::Amperes>;
using Ratio = Quantity<unit::Ratio>;  // 0..1
using Rpm = Quantity<unit::Rpm>;
using Cycles = Quantity<unit::Cycles>;
using Ticks = Quantity<unit::Ticks>;
using Lanes = Quantity<unit::Lanes>;
using TransfersPerSecond = Quantity<unit::TransfersPerSecond>;
using Count = Quantity<unit::Count>;
using Flag = Quantity<unit::Flag>;  // 0 or 1

constexpr Count count_of(std::uint64_t number) { return Count{static_cast<double>(number)}; }
constexpr Flag flag(bool on) { return Flag{on ? 1.0 : 0.0}; }
constexpr Seconds to_seconds(Nanoseconds t) { return Seconds{static_cast<double>(t.count()) / 1e9}; }

}  // namespace igpu
