// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "igpu/units.h"

// Metric descriptors. Every metric is declared once, as a constexpr Metric<> beside its collector; the
// reference (METRICS.md), --help, both text formats and the tests read these descriptors.
//
//   inline constexpr CounterMetric<Seconds, 3> kBusy{"intel_gpu_engine_busy_seconds_total",
//                                                    "Time the engine was busy.", {"device", "gt", "engine"}};
//
// A histogram also has the upper bounds of its buckets:
//
//   inline constexpr std::array kBounds{0.001, 0.01, 0.1};
//   inline constexpr HistogramMetric<Seconds, 1, 3> kWait{"intel_gpu_job_queue_seconds", "Time in the queue.",
//                                                         {"device"}, kBounds};
//
// A name without its unit's suffix, a counter without _total and an info without _info do not compile. A gauge that is
// an extreme of a window has _max or _min after its unit.
namespace igpu {

enum class Kind { counter, gauge, info, histogram };

inline constexpr std::size_t kMaxLabels = 10;

// Type-erased, for serializers and documentation. Descriptors have static storage duration; their address is their
// identity.
struct MetricDescriptor {
  std::string_view name;  // with _total or _info
  Kind kind = Kind::gauge;
  std::string_view help;
  std::string_view unit;  // last part of the name before _total, _max or _min; "" for plain numbers
  std::array<std::string_view, kMaxLabels> label_names{};
  std::size_t label_count = 0;
  std::span<const double> bounds{};  // of a histogram, ascending; the last bucket, up to +Inf, has none
};

// What holds for the name and the help text of every kind.
consteval void check_descriptor(const MetricDescriptor& metric) {
  std::string_view stem = metric.name;
  if (metric.kind == Kind::counter) {
    if (!stem.ends_with("_total")) throw "a counter's name ends in _total";
    stem.remove_suffix(6);
  } else if (stem.ends_with("_total")) {
    throw "only a counter's name ends in _total";
  }
  if (metric.kind == Kind::info && !stem.ends_with("_info")) throw "an info's name ends in _info";
  if (metric.kind == Kind::gauge && (stem.ends_with("_max") || stem.ends_with("_min"))) stem.remove_suffix(4);
  const std::string_view unit = metric.unit;
  if (!unit.empty() &&
      !(stem.ends_with(unit) && stem.size() > unit.size() && stem[stem.size() - unit.size() - 1] == '_')) {
    throw "the name must end in its unit";
  }
  if (metric.help.empty() || !metric.help.ends_with('.')) throw "help is a sentence";
}

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
  // A metric without labels.
  consteval Metric(std::string_view metric_name, Kind metric_kind, std::string_view metric_help) requires(N == 0)
      : MetricDescriptor{metric_name, metric_kind, metric_help, Q::kSuffix, {}, 0} {
    check();
  }

 private:
  consteval void check() const {
    if (kind == Kind::histogram) throw "a histogram is a HistogramMetric";
    check_descriptor(*this);
  }
};

// The same with the kind in its type.
template <Kind K, class Q, std::size_t N>
struct MetricOfKind : Metric<Q, N> {
  template <std::size_t M>
  requires(M == N) consteval MetricOfKind(std::string_view metric_name, std::string_view metric_help,
                                          const std::string_view (&labels)[M])
      : Metric<Q, N>(metric_name, K, metric_help, labels) {}
  consteval MetricOfKind(std::string_view metric_name, std::string_view metric_help) requires(N == 0)
      : Metric<Q, N>(metric_name, K, metric_help) {}
};
template <class Q, std::size_t N>
using CounterMetric = MetricOfKind<Kind::counter, Q, N>;
template <class Q, std::size_t N>
using GaugeMetric = MetricOfKind<Kind::gauge, Q, N>;
template <class Q, std::size_t N>
using InfoMetric = MetricOfKind<Kind::info, Q, N>;

// B bounds: B + 1 buckets.
template <class Q, std::size_t N, std::size_t B>
struct HistogramMetric : MetricDescriptor {
  static_assert(N <= kMaxLabels && B > 0);
  using QuantityType = Q;
  static constexpr std::size_t kBuckets = B + 1;

  // upper_bounds must have static storage duration.
  template <std::size_t M>
  requires(M == N) consteval HistogramMetric(std::string_view metric_name, std::string_view metric_help,
                                             const std::string_view (&labels)[M],
                                             const std::array<double, B>& upper_bounds)
      : MetricDescriptor{metric_name, Kind::histogram, metric_help, Q::kSuffix, {}, N, upper_bounds} {
    std::copy(std::begin(labels), std::end(labels), label_names.begin());
    check_descriptor(*this);
    for (const std::string_view suffix : {"_bucket", "_count", "_sum"}) {
      if (name.ends_with(suffix)) throw "a histogram's name has no suffix of its samples";
    }
    for (const std::string_view label : labels) {
      if (label == "le") throw "le is the label of the buckets";
    }
    for (std::size_t i = 1; i < B; ++i) {
      if (!(bounds[i - 1] < bounds[i])) throw "bounds ascend";
    }
  }
};

// The observations of one series of a histogram: how many fell into each bucket (above the bound before it, up to and
// including its own), and their sum.
template <class Q, std::size_t Buckets>
struct Observations {
  std::span<const std::uint64_t, Buckets> counts;
  Q sum;
};

}  // namespace igpu
