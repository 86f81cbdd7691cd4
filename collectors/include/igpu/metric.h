// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include "igpu/units.h"

// Metric descriptors. Every metric is declared once, as a constexpr Metric<> beside its collector; the
// reference (METRICS.md), --help, both text formats and the tests read these descriptors.
//
//   inline constexpr Metric<Seconds, 3> kBusy{"intel_gpu_engine_busy_seconds_total", Kind::counter,
//                                             "Time the engine was busy.", {"device", "gt", "engine"}};
//
// A name without its unit's suffix, a counter without _total and an info without _info do not compile.
namespace igpu {

enum class Kind { counter, gauge, info };

inline constexpr std::size_t kMaxLabels = 10;

// Type-erased, for serializers and documentation. Descriptors have static storage duration; their address is their
// identity.
struct MetricDescriptor {
  std::string_view name;  // with _total or _info
  Kind kind = Kind::gauge;
  std::string_view help;
  std::string_view unit;  // last part of the name before _total; "" for plain numbers
  std::array<std::string_view, kMaxLabels> label_names{};
  std::size_t label_count = 0;
};

template <class Q, std::size_t N>
struct Metric : MetricDescriptor {
  static_assert(N <= kMaxLabels);
  using QuantityType = Q;

  template <std::size_t M>
  requires(M == N) consteval Metric(std::string_view metric_name, Kind metric_kind, std::string_view metric_help,
                                    const std::string_view (&labels)[M])
      : MetricDescriptor{metric_name, metric_kind, metric_help, Q::kSuffix, {}, N} {
    std::copy(std::begin(labels), std::end(labels), label_names.begin());
    check();
  }
  // Without labels.
  consteval Metric(std::string_view metric_name, Kind metric_kind, std::string_view metric_help) requires(N == 0)
      : MetricDescriptor{metric_name, metric_kind, metric_help, Q::kSuffix, {}, 0} {
    check();
  }

 private:
  consteval void check() const {
    std::string_view stem = name;
    if (kind == Kind::counter) {
      if (!stem.ends_with("_total")) throw "a counter's name ends in _total";
      stem.remove_suffix(6);
    } else if (stem.ends_with("_total")) {
      throw "only a counter's name ends in _total";
    }
    if (kind == Kind::info && !stem.ends_with("_info")) throw "an info's name ends in _info";
    if (!unit.empty() &&
        !(stem.ends_with(unit) && stem.size() > unit.size() && stem[stem.size() - unit.size() - 1] == '_')) {
      throw "the name must end in its unit";
    }
    if (help.empty() || !help.ends_with('.')) throw "help is a sentence";
  }
};

}  // namespace igpu
