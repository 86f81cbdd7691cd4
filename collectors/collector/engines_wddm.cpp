// SPDX-License-Identifier: Apache-2.0
#include "collector/engines_wddm.h"

#include <algorithm>
#include <cerrno>

#include "metric/feature_report.h"

namespace igpu {
namespace {

constexpr FeatureDescriptor kBusyByNodes{EnginesCollector::kBusyFeature.name, EnginesCollector::kBusyFeature.meaning,
                                         Need::windows_rights, false, EnginesCollector::kBusyFeature.kernel_absences};
constexpr std::string_view kGt = "0";  // Windows does not tell a GPU's parts apart
constexpr std::string_view kSource = "d3dkmt";

}  // namespace

WddmEngineMeter::WddmEngineMeter(const CollectorContext& context)
    : gpu_(context.gpu),
      memory_(context.memory),
      min_window_(context.min_window),
      adapter_(context.machine, context.gpu) {}

// Some drivers have nodes whose time stays 0 while processes use them.
bool WddmEngineMeter::stands_still(ScrapePass& pass) const {
  const auto is_zero = [](const Engine& engine) { return engine.busy && *engine.busy == Nanoseconds::zero(); };
  if (!std::all_of(engines_.begin(), engines_.end(), is_zero)) return false;
  const auto snapshot = pass.clients();
  if (!snapshot) return false;
  const auto clients = (*snapshot)->clients_of(gpu_.address);
  return std::any_of(clients.begin(), clients.end(), [](const DrmClient& client) {
    return std::any_of(client.engines.begin(), client.engines.end(),
                       [](const ClientEngine& engine) { return engine.busy_ns.value_or(0) > 0; });
  });
}

void WddmEngineMeter::write(Engine& engine, ScrapePass& pass, EngineSeconds& by_class, SampleSink& out) const {
  // Another driver than at the last scrape counts from zero.
  const std::uint64_t total = engine.nanoseconds.advance(static_cast<std::uint64_t>(engine.busy->count()));
  const Seconds seconds{static_cast<double>(total) / 1e9};
  out.add(EnginesCollector::kBusy, {gpu_.address, kGt, engine.facts.name, engine.facts.class_label(), kSource},
          seconds);
  if (const auto delta = engine.window.advance(pass.now(), {total}))
    out.add(EnginesCollector::kBusyRatio, {gpu_.address, kGt, engine.facts.name, engine.facts.class_label(), kSource},
            clamped_ratio(static_cast<double>(delta->counts[0]), static_cast<double>(delta->elapsed.count())));
  if (const auto known = engine.facts.engine_class) {
    auto& sum = by_class[static_cast<std::size_t>(*known)];
    sum = sum.value_or(0) + seconds.value;
  }
}

void WddmEngineMeter::collect(ScrapePass& pass, SampleSink& out) {
  out.absent(EnginesCollector::kWaitFeature, {Reason::kernel});
  out.absent(EnginesCollector::kInterruptsFeature, {Reason::kernel});
  FeatureReport report(out, kBusyByNodes, {Reason::kernel});
  if (engines_.empty()) {
    const auto found = adapter_.engines();
    if (!found) {
      (void)report.note(found);
      return;
    }
    for (const WddmEngine& engine : **found) engines_.emplace_back(engine, memory_, min_window_);
  }
  for (Engine& engine : engines_) engine.busy = adapter_.busy(engine.facts);
  if (stands_still(pass)) {
    (void)report.note(Reading<Unit>(Absent{Reason::kernel, ENODATA}));
    return;
  }
  EngineSeconds by_class;
  for (Engine& engine : engines_)
    if (report.note(engine.busy)) write(engine, pass, by_class, out);
  pass.engines_measured(by_class);
}

}  // namespace igpu
