// SPDX-License-Identifier: Apache-2.0
#include "collector/power.h"

#include <algorithm>
#include <utility>

#include "source/rapl_events.h"

namespace igpu {
namespace {

// One feature for users; its requirements depend on the source of the energy.
constexpr FeatureDescriptor kPowerFeature{"power", "Energy and power.", Need::rapl_pmu, false,
                                          PowerCollector::kNoPower};
constexpr FeatureDescriptor kPowerByFile{"power", "Energy and power.", Need::powercap_file, false,
                                         PowerCollector::kNoPower};
constexpr FeatureDescriptor kPowerOfCard{"power", "Energy and power.", Need::card_hwmon, false,
                                         PowerCollector::kNoPower};
constexpr const MetricDescriptor* kPowerMetrics[] = {&PowerCollector::kEnergy, &PowerCollector::kPower};
constexpr const FeatureDescriptor* kPowerFeatures[] = {&kPowerFeature};

// Bound of the energy at this power, in the counter's units. Up to a quarter of a second of it may be published at
// once.
GainBound energy_bound(Watts most, double units_per_joule) {
  return {.per_second = most.value * units_per_joule, .at_once = most.value * units_per_joule / 4};
}

constexpr double kMicrojoulesPerJoule = 1e6;

}  // namespace

constexpr CollectorInfo PowerCollector::kInfo{.name = "power",
                                              .help = "Energy and power: RAPL for integrated GPUs, hwmon for cards.",
                                              .accumulates_on_read = true,
                                              .metrics = kPowerMetrics,
                                              .features = kPowerFeatures};

PowerCollector::PowerCollector(const CollectorContext& context)
    : machine_(context.machine), gpu_(context.gpu), memory_(context.memory), min_window_(context.min_window) {
  if (stands_for_package(gpu_)) rapl_ = std::make_unique<PmuSession>(machine_, memory_, "power", "power/");
}

void PowerCollector::find_sources() {
  const bool found = !pmu_domains_.empty() || !powercap_.empty() || !hwmon_.empty();
  if (!scans_.due(found) && !unreadable_) return;
  if (gpu_.kind == GpuKind::discrete) {
    Hwmon hwmon = Hwmon::of_gpu(machine_.sys, gpu_);
    card_power_ = hwmon.highest_power();
    unreadable_ = std::move(hwmon.unreadable);
    for (Hwmon::Channel& channel : hwmon.energies)
      add_file_part(hwmon_, channel.name, "hwmon " + channel.name, std::move(channel.attribute), 0);
    return;
  }
  if (!rapl_) return;
  if (pmu_domains_.empty()) {
    const std::vector<std::string> events = rapl_->events().value_or({});
    for (const RaplEvent& known : kRaplEvents)
      if (std::find(events.begin(), events.end(), known.event) != events.end())
        add_pmu_domain(known.domain, known.event);
  }
  for (PowercapZone& zone : powercap_zones(machine_.sys))
    add_file_part(powercap_, zone.domain, zone.path, std::move(zone.energy), zone.range);
}

void PowerCollector::add_pmu_domain(std::string_view domain, std::string_view event) {
  MonotonicCounter& total = memory_.counter("bounded " + std::string(event));
  total.rebase();
  pmu_domains_.push_back({domain, rapl_->want(event), CounterWindow<1>(min_window_), total});
}

void PowerCollector::add_file_part(std::vector<FileDomain>& domains, std::string_view domain, const std::string& key,
                                   Attribute energy, std::uint64_t range) {
  auto at =
      std::find_if(domains.begin(), domains.end(), [&](const FileDomain& known) { return known.domain == domain; });
  if (at == domains.end()) {
    domains.push_back({std::string(domain), {}, CounterWindow<1>(min_window_)});
    at = domains.end() - 1;
  }
  const auto is_it = [&](const FileDomain::Part& part) { return part.key == key; };
  if (std::any_of(at->parts.begin(), at->parts.end(), is_it)) return;
  MonotonicCounter& total = memory_.counter(key);
  total.rebase();
  at->parts.push_back({key, std::move(energy), range, total});
  at->window.restart();  // what another package used before is not current power
}

// The kernel handles wraparounds of the `power` PMU's counters; those of files are handled here.
Nanoseconds PowerCollector::read_within() const {
  Nanoseconds lap = Nanoseconds::max();
  if (!hwmon_.empty()) lap = Hwmon::energy_lap(card_power_);
  for (const FileDomain& domain : powercap_) {
    if (!domain.is_read) continue;
    for (const FileDomain::Part& part : domain.parts)
      if (part.range != 0) lap = std::min(lap, powercap_lap(part.range));
  }
  return lap / 2;
}

void PowerCollector::collect(ScrapePass& pass, SampleSink& out) {
  find_sources();
  // The feature of perf, unless there is only the file, which needs root.
  const FeatureDescriptor& feature = !rapl_ ? kPowerOfCard : pmu_domains_.empty() ? kPowerByFile : kPowerFeature;
  const bool any_source = !pmu_domains_.empty() || !powercap_.empty() || !hwmon_.empty();
  FeatureReport report(out, feature, {any_source || gpu_.virtual_function ? Reason::hardware : Reason::kernel});
  std::vector<std::string_view> reported;
  if (rapl_) collect_pmu(pass, out, report, reported);
  collect_files(powercap_, "powercap", kMostRaplPower, pass, out, report, reported);
  if (unreadable_) (void)report.note(Reading<Unit>(*unreadable_));
  collect_files(hwmon_, "hwmon", card_power_, pass, out, report, reported);
}

void PowerCollector::collect_pmu(ScrapePass& pass, SampleSink& out, FeatureReport& report,
                                 std::vector<std::string_view>& reported) {
  if (pmu_domains_.empty()) return;
  const Nanoseconds begin = pass.now();
  const auto read = rapl_->refresh(pass.number());
  const Nanoseconds end = pass.now();
  if (!read) {
    report.note(read);
    // A single failure is no reason to report the same joules under another source.
    if (read.is_failure())
      for (const PmuDomain& domain : pmu_domains_) reported.push_back(domain.domain);
    return;
  }
  if (std::exchange(rapl_generation_, rapl_->generation()) != rapl_->generation())
    for (PmuDomain& domain : pmu_domains_) domain.window.restart();
  for (PmuDomain& domain : pmu_domains_) {
    const auto joules = rapl_->scaled(domain.handle, kJoulesPerCount);
    const auto count = rapl_->count(domain.handle);
    const auto raw = rapl_->raw(domain.handle);
    if (!joules || !count || !raw) {
      (void)report.note(joules);
      continue;
    }
    reported.push_back(domain.domain);
    const auto delta = domain.window.advance(rapl_->time(), {*raw});
    if (*count == 0) continue;
    report.available();
    const double scale = *joules / static_cast<double>(*count);
    // The kernel mistakes a register that was reset (by a suspend of the machine) for one that has wrapped.
    const Advance step = domain.total.advance_bounded(*count, 0, energy_bound(kMostRaplPower, 1 / scale), begin, end);
    if (step == Advance::reset) {
      domain.window.restart();
      (void)domain.window.advance(rapl_->time(), {*raw});
    }
    out.add(kEnergy, {gpu_.address, domain.domain, "rapl_pmu"},
            Joules{static_cast<double>(domain.total.total()) * scale});
    if (delta && step != Advance::reset) {
      const double joules_in_window = static_cast<double>(delta->counts[0]) * scale;
      out.add(kPower, {gpu_.address, domain.domain, "rapl_pmu"},
              Watts{joules_in_window / to_seconds(delta->elapsed).value});
    }
  }
}

// Microjoules of all packages together; nothing if one of them has none.
std::optional<PowerCollector::Energy> PowerCollector::read(FileDomain& domain, Watts most, ScrapePass& pass,
                                                           FeatureReport& report) {
  Energy energy;
  for (FileDomain::Part& part : domain.parts) {
    const Nanoseconds begin = pass.now();
    const auto raw = part.energy.number();
    if (!raw) {
      (void)report.note(raw);
      return std::nullopt;
    }
    const GainBound bound = energy_bound(most, kMicrojoulesPerJoule);
    const Advance step = part.total.advance_bounded(*raw, part.range, bound, begin, pass.now());
    energy.held = energy.held || step == Advance::held;
    if (step == Advance::reset) {
      domain.window.restart();  // no power for this window
      // It was 0 because it did not count yet: its first value counts in full.
      if (!part.has_counted && part.total.total() == 0) part.total.add(*raw);
    }
    energy.microjoules += part.total.total();
    part.has_counted = part.has_counted || *raw != 0;
    domain.has_counted = domain.has_counted || part.has_counted;
  }
  return energy;
}

void PowerCollector::collect_files(std::vector<FileDomain>& domains, std::string_view source, Watts most,
                                   ScrapePass& pass, SampleSink& out, FeatureReport& report,
                                   const std::vector<std::string_view>& reported) {
  for (FileDomain& domain : domains) {
    domain.is_read = std::find(reported.begin(), reported.end(), domain.domain) == reported.end();
    if (!domain.is_read) continue;
    const Nanoseconds now = pass.now();
    const auto energy = read(domain, most, pass, report);
    if (!energy) continue;
    if (domain.has_counted) {
      report.available();
      out.add(kEnergy, {gpu_.address, domain.domain, source}, Joules{static_cast<double>(energy->microjoules) / 1e6});
    }
    if (energy->held) continue;
    if (const auto delta = domain.window.advance(now, {energy->microjoules}); delta && domain.has_counted)
      out.add(kPower, {gpu_.address, domain.domain, source},
              Watts{static_cast<double>(delta->counts[0]) / 1e6 / to_seconds(delta->elapsed).value});
  }
}

}  // namespace igpu
