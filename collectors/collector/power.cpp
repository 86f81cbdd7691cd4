// SPDX-License-Identifier: Apache-2.0
#include "collector/power.h"

#include <algorithm>

namespace igpu {
namespace {

constexpr Metric<Joules, 3> kEnergy{"intel_gpu_energy_joules_total", Kind::counter,
                                    "Energy. Integrated GPU: RAPL domains (package and psys contain gpu: do not add them up). Card: card and package.",
                                    {"device", "domain", "source"}};
constexpr Metric<Watts, 3> kPower{"intel_gpu_power_watts", Kind::gauge, "Mean power over the window.", {"device", "domain", "source"}};

constexpr FeatureDescriptor kRaplFeature{"power", "Energy and power.", Need::perf_events};
constexpr const MetricDescriptor* kMetrics[] = {&kEnergy, &kPower};
constexpr const FeatureDescriptor* kFeatures[] = {&kRaplFeature};

// Events of the `power` PMU (arch/x86/events/rapl.c).
struct RaplEvent {
  std::string_view event, domain;
};
constexpr RaplEvent kRaplEvents[] = {
    {"energy-gpu", "gpu"}, {"energy-pkg", "package"}, {"energy-cores", "cores"}, {"energy-ram", "dram"}, {"energy-psys", "psys"}};

}  // namespace

constexpr CollectorInfo PowerCollector::kInfo{.name = "power",
                                              .help = "Energy and power: RAPL for integrated GPUs, hwmon for cards.",
                                              .accumulates_on_read = true,
                                              .metrics = kMetrics,
                                              .features = kFeatures};

std::unique_ptr<Collector> PowerCollector::create(const CollectorContext& context) {
  return std::make_unique<PowerCollector>(context);
}

PowerCollector::PowerCollector(const CollectorContext& context) : gpu_(context.gpu) {
  if (gpu_.kind == GpuKind::discrete) {
    Hwmon hwmon = Hwmon::of_gpu(context.machine.sys, gpu_);
    for (Hwmon::Channel& channel : hwmon.energies)
      add_file_part(hwmon_, context, channel.name, "hwmon " + channel.name, std::move(channel.attribute), 0);
    return;
  }
  rapl_ = std::make_unique<PmuSession>(context.machine, context.memory, "power");
  const auto events = rapl_->events().value_or({});
  for (const RaplEvent& known : kRaplEvents)
    if (std::find(events.begin(), events.end(), known.event) != events.end())
      pmu_domains_.push_back({known.domain, rapl_->want(known.event), CounterWindow<1>(context.min_window)});
  for (PowercapZone& zone : powercap_zones(context.machine.sys))
    add_file_part(powercap_, context, zone.domain, zone.path, std::move(zone.energy), zone.range);
}

void PowerCollector::add_file_part(std::vector<FileDomain>& domains, const CollectorContext& context, std::string_view domain,
                                   const std::string& key, Attribute energy, std::uint64_t range) {
  auto at = std::find_if(domains.begin(), domains.end(), [&](const FileDomain& known) { return known.domain == domain; });
  if (at == domains.end()) {
    domains.push_back({std::string(domain), {}, CounterWindow<1>(context.min_window)});
    at = domains.end() - 1;
  }
  MonotonicCounter& total = context.memory.counter(key);
  total.rebase();
  at->parts.push_back({std::move(energy), range, total});
}

void PowerCollector::collect(ScrapePass& pass, SampleSink& out) {
  const bool card = gpu_.kind == GpuKind::discrete;
  FeatureReport report(out, kRaplFeature, {card || pmu_domains_.empty() ? Reason::kernel : Reason::hardware});
  std::vector<std::string_view> told;
  if (rapl_) collect_pmu(pass, out, report, told);
  collect_files(powercap_, "powercap", pass, out, report, told);
  collect_files(hwmon_, "hwmon", pass, out, report, told);
}

void PowerCollector::collect_pmu(ScrapePass& pass, SampleSink& out, FeatureReport& report, std::vector<std::string_view>& told) {
  if (pmu_domains_.empty()) return;
  const auto read = rapl_->refresh(pass.number());
  if (!read) {
    report.note(read);
    return;
  }
  for (PmuDomain& domain : pmu_domains_) {
    const auto joules = rapl_->scaled(domain.handle);
    const auto count = rapl_->count(domain.handle);
    const auto raw = rapl_->raw(domain.handle);
    if (!joules || !count || !raw) continue;
    report.available();
    told.push_back(domain.domain);
    out.add(kEnergy, {gpu_.address, domain.domain, "rapl_pmu"}, Joules{*joules});
    if (*count > 0) domain.joules_per_count = *joules / static_cast<double>(*count);
    if (const auto delta = domain.window.advance(rapl_->time(), {*raw})) {
      const double joules_in_window = static_cast<double>(delta->counts[0]) * domain.joules_per_count;
      out.add(kPower, {gpu_.address, domain.domain, "rapl_pmu"}, Watts{joules_in_window / to_seconds(delta->elapsed).value});
    }
  }
}

void PowerCollector::collect_files(std::vector<FileDomain>& domains, std::string_view source, ScrapePass& pass, SampleSink& out,
                                   FeatureReport& report, const std::vector<std::string_view>& told) {
  struct State {
    FileDomain* domain;
    std::uint64_t microjoules;
    Nanoseconds time;
    bool dead;
  };
  std::vector<State> states;
  for (FileDomain& domain : domains) {
    if (std::find(told.begin(), told.end(), domain.domain) != told.end()) continue;
    State state{&domain, 0, pass.now(), true};
    bool whole = true;
    for (FileDomain::Part& part : domain.parts) {
      const auto raw = part.energy.number();
      if (!report.note(raw)) {
        whole = false;
        break;
      }
      const std::uint64_t before = part.total.total();
      const std::uint64_t after = part.range != 0 ? part.total.advance_wrapping(*raw, part.range) : part.total.advance(*raw);
      if (*raw < part.last && after == before) domain.window.restart();  // it jumped back: no power for this window
      part.last = *raw;
      state.microjoules += after;
      state.dead = state.dead && *raw == 0;
    }
    if (whole) states.push_back(state);
  }
  // Some kernels show a card counter that nobody feeds: it stays 0 while another channel of the same card counts.
  const bool any_alive = std::any_of(states.begin(), states.end(), [](const State& s) { return !s.dead; });
  for (const State& state : states) {
    if (state.dead && any_alive) continue;
    out.add(kEnergy, {gpu_.address, state.domain->domain, source}, Joules{static_cast<double>(state.microjoules) * 1e-6});
    if (const auto delta = state.domain->window.advance(state.time, {state.microjoules}))
      out.add(kPower, {gpu_.address, state.domain->domain, source},
              Watts{static_cast<double>(delta->counts[0]) * 1e-6 / to_seconds(delta->elapsed).value});
  }
}

}  // namespace igpu
