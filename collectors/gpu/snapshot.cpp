// SPDX-License-Identifier: Apache-2.0
#include "igpu/snapshot.h"

#include <algorithm>

#include "igpu/error.h"

namespace igpu {

using namespace snapshot;
namespace {

// The row for which `matches` holds, and of it the reading that `get` returns.
template <class T, class Row, class Matches, class Get>
Reading<T> find(const Reading<std::vector<Row>>& rows, Matches matches, Get get) {
  if (!rows) return rows.template propagate<T>();
  const auto row = std::ranges::find_if(*rows, matches);
  if (row == rows->end()) return Absent{Reason::hardware};
  return get(*row);
}

}  // namespace

const FeatureState* Snapshot::feature(std::string_view name) const {
  if (!features) return nullptr;
  const auto found = std::ranges::find(*features, name, &FeatureState::name);
  return found == features->end() ? nullptr : &*found;
}

Reading<Ratio> Snapshot::busy(EngineClass engine_class) const {
  return find<Ratio>(
      engine_classes, [&](const EngineClassLoad& row) { return row.engine_class == engine_class; },
      [](const EngineClassLoad& row) { return row.busy; });
}

Reading<Hertz> Snapshot::frequency(unsigned gt) const {
  return find<Hertz>(
      frequencies, [&](const Frequency& row) { return row.gt == gt; }, [](const Frequency& row) { return row.actual; });
}

Reading<Watts> Snapshot::power_of(std::string_view domain) const {
  return find<Watts>(
      power, [&](const Power& row) { return row.domain == domain; }, [](const Power& row) { return row.mean; });
}

Reading<Celsius> Snapshot::temperature(std::string_view sensor) const {
  return find<Celsius>(
      temperatures, [&](const Temperature& row) { return row.sensor == sensor; },
      [](const Temperature& row) { return Reading<Celsius>(row.value); });
}

// By value as in the ABI. NOLINTNEXTLINE(performance-unnecessary-value-param)
GpuError::GpuError(const std::string& message, std::string hint) : std::runtime_error(message), hint_(hint) {}
GpuError::GpuError(const GpuError&) noexcept = default;
GpuError::~GpuError() = default;

SystemFailure::SystemFailure(const std::string& message, std::error_code code, std::string hint)
    : GpuError(message + ": " + code.message(), std::move(hint)), code_(code) {}
SystemFailure::SystemFailure(const SystemFailure&) noexcept = default;
SystemFailure::~SystemFailure() = default;

NoGpu::~NoGpu() = default;
NoSuchGpu::~NoSuchGpu() = default;
GpuGone::~GpuGone() = default;
InvalidOption::~InvalidOption() = default;
SamplingEnded::~SamplingEnded() = default;

}  // namespace igpu
