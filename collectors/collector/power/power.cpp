// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <vector>

#include "base/counter_window.h"
#include "base/scan_schedule.h"
#include "collector/collector.h"
#include "kernel/pmu/energy_sources.h"

namespace igpu {
namespace {

constexpr CounterMetric<Joules, 3> kEnergy{"intel_gpu_energy_joules_total",
                                           "Energy used. Integrated GPU: RAPL domains (package and psys "
                                           "include gpu: do not add them up). Card: card and package.",
                                           {"device", "domain", "source"}};
constexpr GaugeMetric<Watts, 3> kPower{
    "intel_gpu_power_watts", "Mean power over the window.", {"device", "domain", "source"}};
constexpr std::array<KernelAbsence, 2> kNoPower{{
    {Driver::i915, GpuKind::discrete, "this kernel's i915 driver has no energy counter of the card in hwmon",
     "Linux 6.2 or newer, with CONFIG_HWMON"},
    {Driver::xe, GpuKind::discrete, "this kernel's xe driver has no energy counter of the card in hwmon",
     "Linux 6.8 or newer, with CONFIG_HWMON"},
}};
// One feature for users; its requirements depend on the source of the energy.
constexpr FeatureDescriptor kPowerFeature{"power", "Energy and power.", Need::rapl_pmu, false, kNoPower};
constexpr FeatureDescriptor kPowerByFile{"power", "Energy and power.", Need::powercap_file, false, kNoPower};
constexpr FeatureDescriptor kPowerOfCard{"power", "Energy and power.", Need::card_hwmon, false, kNoPower};

// Energy and power of the GPU and its package. A counter that has never counted is left out until it counts.
class PowerCollector final : public Collector {
 public:
  static constexpr CollectorInfo kInfo{.name = "power",
                                       .help = "Energy and power: RAPL for integrated GPUs, hwmon for cards.",
                                       .accumulates_on_read = true,
                                       .metrics = kListOf<MetricDescriptor, kEnergy, kPower>,
                                       .features = kListOf<FeatureDescriptor, kPowerFeature>};
  explicit PowerCollector(const CollectorContext& context)
      : gpu_(context.gpu), min_window_(context.min_window), sources_(context.machine, context.memory, context.gpu) {}
  void collect(ScrapePass& pass, SampleSink& out) override {
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

  Nanoseconds read_within() const override { return sources_.lap() / 2; }

 private:
  const Gpu& gpu_;
  const Nanoseconds min_window_;
  ScanSchedule scans_;
  EnergySources sources_;
  std::vector<CounterWindow<1>> windows_;  // by EnergySources::domains()
};

}  // namespace

CollectorEntry power_collector() { return entry<PowerCollector>(); }

}  // namespace igpu
