// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <string_view>

// Quantities in base units. Native units of the kernel (microjoules, MHz, ticks, millidegrees) stop in source/;
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
struct Seconds {
  static constexpr std::string_view kSuffix = "seconds";
};
struct Bytes {
  static constexpr std::string_view kSuffix = "bytes";
};
struct BytesPerSecond {
  static constexpr std::string_view kSuffix = "bytes_per_second";
};
struct Hertz {
  static constexpr std::string_view kSuffix = "hertz";
};
struct Joules {
  static constexpr std::string_view kSuffix = "joules";
};
struct Watts {
  static constexpr std::string_view kSuffix = "watts";
};
struct Celsius {
  static constexpr std::string_view kSuffix = "celsius";
};
struct Volts {
  static constexpr std::string_view kSuffix = "volts";
};
struct Amperes {
  static constexpr std::string_view kSuffix = "amperes";
};
struct Ratio {
  static constexpr std::string_view kSuffix = "ratio";
};
struct Rpm {
  static constexpr std::string_view kSuffix = "rpm";
};
struct Cycles {
  static constexpr std::string_view kSuffix = "cycles";
};
struct Ticks {
  static constexpr std::string_view kSuffix = "ticks";
};
struct Lanes {
  static constexpr std::string_view kSuffix = "lanes";
};
struct TransfersPerSecond {
  static constexpr std::string_view kSuffix = "transfers_per_second";
};
struct Count {
  static constexpr std::string_view kSuffix = "";
};
struct Flag {
  static constexpr std::string_view kSuffix = "";
};
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
