// SPDX-License-Identifier: Apache-2.0
#include "collector/power/power.h"

#include "metric/feature_report.h"

namespace igpu {
namespace {

// One feature for users; its requirements depend on the source of the energy.
constexpr FeatureDescriptor kPowerFeature{"power", "Energy and power.", Need::rapl_pmu, false,
                                          PowerCollector::kNoPower};
constexpr FeatureDescriptor kPowerByFile{"power", "Energy and power.", Need::powercap_file, false,
                                         PowerCollector::kNoPower};
constexpr FeatureDescriptor kPowerOfCard{"power", "Energy and power.", Need::card_hwmon, false,
                                         PowerCollector::kNoPower};

}  // namespace

constexpr CollectorInfo PowerCollector::kInfo{
    .name = "power",
    .help = "Energy and power: RAPL for integrated GPUs, hwmon for cards.",
    .accumulates_on_read = true,
    .metrics = kListOf<MetricDescriptor, PowerCollector::kEnergy, PowerCollector::kPower>,
    .features = kListOf<FeatureDescriptor, kPowerFeature>};

PowerCollector::PowerCollector(const CollectorContext& context)
    : gpu_(context.gpu), min_window_(context.min_window), sources_(context.machine, context.memory, context.gpu) {}

Nanoseconds PowerCollector::read_within() const { return sources_.lap() / 2; }

void PowerCollector::collect(ScrapePass& pass, SampleSink& out) {
  if (scans_.due(sources_.found()) || sources_.unreadable()) sources_.find();
  // The feature of perf, unless there is only the file, which needs root.
  const FeatureDescriptor& feature = !stands_for_package(gpu_) ? kPowerOfCard
                                     : !sources_.has_events()  ? kPowerByFile
                                                               : kPowerFeature;
  FeatureReport report(out, feature, {sources_.found() || gpu_.virtual_function ? Reason::hardware : Reason::kernel});
  sources_.read(pass.number());
  if (const auto& pmu = sources_.pmu_outcome(); pmu && !*pmu) (void)report.note(*pmu);
  if (const auto& unreadable = sources_.unreadable()) (void)report.note(Reading<Unit>(*unreadable));
  windows_.resize(sources_.domains().size(), CounterWindow<1>(min_window_));
  auto window = windows_.begin();
  for (const EnergySources::Domain& domain : sources_.domains()) {
    CounterWindow<1>& its_window = *window++;
    if (domain.restarted) its_window.restart();
    if (!domain.outcome) continue;
    if (!*domain.outcome) {
      (void)report.note(*domain.outcome);
      continue;
    }
    if (domain.has_counted) {
      report.available();
      out.add(kEnergy, {gpu_.address, domain.name, domain.source}, Joules{domain.joules(domain.count)});
    }
    if (domain.held) continue;
    if (const auto delta = its_window.advance(domain.time, {domain.count}); delta && domain.has_counted)
      out.add(kPower, {gpu_.address, domain.name, domain.source},
              Watts{domain.joules(delta->counts[0]) / to_seconds(delta->elapsed).value});
  }
}

}  // namespace igpu
