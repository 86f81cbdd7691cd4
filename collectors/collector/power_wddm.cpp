// SPDX-License-Identifier: Apache-2.0
#include "collector/power_wddm.h"

#include <algorithm>

#include "collector/shared/sysman_option.h"

namespace igpu {
namespace {

constexpr FeatureDescriptor kPowerBySysman{"power", "Energy and power.", Need::windows_rights, false,
                                           PowerCollector::kNoPower};
constexpr double kPerJoule = 1e6;
// Two kilowatts: more than any card draws.
constexpr GainBound kPowerWddmBound{.per_second = 2000 * kPerJoule, .at_once = 500 * kPerJoule};

}  // namespace

WddmPower::WddmPower(const CollectorContext& context)
    : gpu_(context.gpu),
      memory_(context.memory),
      min_window_(context.min_window),
      sysman_(context.machine, context.gpu, context.options[kSysman]) {}

WddmPower::Domain& WddmPower::domain(std::string_view name) {
  const auto at = std::ranges::find(domains_, name, &Domain::name);
  if (at != domains_.end()) return *at;
  MonotonicCounter& counter = memory_.counter(name);
  counter.rebase();
  return domains_.emplace_back(Domain{name, counter, CounterWindow<1>(min_window_)});
}

void WddmPower::collect(ScrapePass& pass, SampleSink& out) {
  FeatureReport report(out, kPowerBySysman, {Reason::kernel});
  const Nanoseconds begin = pass.now();
  const auto energies = sysman_.energies();
  if (!energies) {
    (void)report.note(energies);
    return;
  }
  const Nanoseconds now = pass.now();
  for (const SysmanGpu::Energy& energy : *energies) {
    if (!energy.microjoules) {
      (void)report.note(energy.microjoules);
      continue;
    }
    Domain& known = domain(energy.domain);
    const Advance step = known.microjoules.advance_bounded(*energy.microjoules, 0, kPowerWddmBound, begin, now);
    if (step == Advance::reset) known.window.restart();
    std::optional<CounterWindow<1>::Delta> delta;
    if (step != Advance::held) delta = known.window.advance(now, {known.microjoules.total()});
    known.has_counted = known.has_counted || *energy.microjoules != 0;
    if (!known.has_counted) continue;
    report.available();
    out.add(PowerCollector::kEnergy, {gpu_.address, known.name, "sysman"},
            Joules{static_cast<double>(known.microjoules.total()) / kPerJoule});
    if (delta)
      out.add(PowerCollector::kPower, {gpu_.address, known.name, "sysman"},
              Watts{static_cast<double>(delta->counts[0]) / kPerJoule / to_seconds(delta->elapsed).value});
  }
}

}  // namespace igpu
