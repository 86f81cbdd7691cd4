// SPDX-License-Identifier: Apache-2.0
#include "kernel/pmu/energy_sources.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/scan.h"
#include "kernel/sysfs/hwmon_files.h"

namespace igpu {

namespace {

constexpr std::string_view kRaplSource = "rapl_pmu", kPowercapSource = "powercap", kHwmonSource = "hwmon";

// Events of the `power` PMU (arch/x86/events/rapl.c).
struct RaplEvent {
  std::string_view event, domain;
};
constexpr RaplEvent kRaplEvents[] = {{"energy-gpu", "gpu"},
                                     {"energy-pkg", "package"},
                                     {"energy-cores", "cores"},
                                     {"energy-ram", "dram"},
                                     {"energy-psys", "psys"}};
// For all of these events on every processor; equal to .scale.
constexpr double kJoulesPerCount = 1.0 / (1ULL << 32);
constexpr double kMicrojoulesPerJoule = 1e6;

std::string_view domain_of_zone(std::string_view zone) {
  if (zone.starts_with("package-")) return "package";
  if (zone == "uncore") return "gpu";
  if (zone == "core") return "cores";
  if (zone == "dram") return "dram";
  if (zone == "psys" || zone.starts_with("psys-")) return "psys";
  return {};
}

}  // namespace

EnergySources::EnergySources(Machine& machine, CounterMemory& memory, const Gpu& gpu, Nanoseconds retry_after)
    : machine_(machine), memory_(memory), gpu_(gpu), retry_after_(retry_after) {
  if (stands_for_package(gpu_)) rapl_ = std::make_unique<PmuSession>(machine_, memory_, "power", "power/");
}

void EnergySources::find() {
  if (gpu_.kind == GpuKind::discrete) {
    Hwmon hwmon = Hwmon::of_gpu(machine_.sys, gpu_);
    const Watts most = hwmon.highest_power();
    unreadable_ = std::move(hwmon.unreadable);
    for (Hwmon::Channel& channel : hwmon.energies)
      add_part(channel.name, kHwmonSource, most, "hwmon " + channel.name, {}, std::move(channel.attribute), 0);
    return;
  }
  if (!rapl_) return;
  if (!has_events_) {
    const std::vector<std::string> events = rapl_->events().value_or({});
    for (const auto& [event, domain] : kRaplEvents) {
      if (std::ranges::find(events, event) == events.end()) continue;
      add_part(domain, kRaplSource, kMostRaplPower, "bounded " + std::string(event), rapl_->want(event), {}, 0);
      has_events_ = true;
    }
  }
  for (PowercapZone& zone : powercap_zones(machine_.sys))
    add_part(zone.domain, kPowercapSource, kMostRaplPower, zone.path, {}, std::move(zone.energy), zone.range);
}

void EnergySources::add_part(std::string_view name, std::string_view source, Watts most, std::string key,
                             std::optional<PmuSession::Handle> event, std::optional<Attribute> file,
                             std::uint64_t range) {
  auto domain =
      std::ranges::find_if(domains_, [&](const Domain& known) { return known.name == name && known.source == source; });
  if (domain == domains_.end()) {
    domain = domains_.emplace(domains_.end());
    domain->name = name;
    domain->source = source;
    domain->counts_per_joule = event ? 1 / kJoulesPerCount : kMicrojoulesPerJoule;
  }
  domain->most = most;
  const auto is_it = [&](const Domain::Part& part) { return part.key == key; };
  if (std::ranges::any_of(domain->parts_, is_it)) return;
  MonotonicCounter& total = memory_.counter(key);
  total.rebase();
  domain->parts_.push_back({std::move(key), event, std::move(file), range, total});
  domain->is_new_ = true;  // what another package used before is not current power
}

Nanoseconds EnergySources::lap() const {
  Nanoseconds lap = Nanoseconds::max();
  for (const Domain& domain : domains_) {
    if (domain.source == kHwmonSource) lap = std::min(lap, Hwmon::energy_lap(domain.most));
    if (domain.source != kPowercapSource || !domain.outcome) continue;
    for (const Domain::Part& part : domain.parts_)
      if (part.range != 0) lap = std::min(lap, powercap_lap(part.range));
  }
  return lap;
}

void EnergySources::read(std::uint64_t pass) {
  const Nanoseconds begin = machine_.clock.now();
  bool reopened = false;
  if (has_events_ && begin >= retry_rapl_at_) {
    pmu_outcome_ = rapl_->refresh(pass);
    if (!*pmu_outcome_ && !rapl_->is_open()) retry_rapl_at_ = begin + retry_after_;
    reopened = std::exchange(rapl_generation_, rapl_->generation()) != rapl_->generation();
  }
  for (Domain& domain : domains_) {
    domain.outcome.reset();
    domain.restarted = std::exchange(domain.is_new_, false);
    if (domain.source != kRaplSource) continue;
    domain.restarted = domain.restarted || reopened;
    if (*pmu_outcome_) read(domain, begin);
  }
  for (Domain& domain : domains_)
    if (domain.source != kRaplSource && !has_other_source(domain)) read(domain, machine_.clock.now());
}

// A single failure of the PMU is no reason to report the same joules under another source.
bool EnergySources::has_other_source(const Domain& domain) const {
  return std::ranges::any_of(domains_, [&](const Domain& other) {
    return other.source == kRaplSource && other.name == domain.name &&
           (pmu_outcome_->is_failure() || (other.outcome && *other.outcome));
  });
}

// The sum of all packages; no value if one of them has none.
void EnergySources::read(Domain& domain, Nanoseconds begin) {
  domain.time = domain.source == kRaplSource ? rapl_->time() : begin;
  domain.held = false;
  std::uint64_t sum = 0;
  for (Domain::Part& part : domain.parts_) {
    const Nanoseconds part_begin = part.event ? begin : machine_.clock.now();
    const auto raw = count_of(domain, part, part_begin);
    if (!raw) {
      domain.outcome = raw.propagate<Unit>();
      return;
    }
    // Up to a quarter of a second of the energy may be published at once. The kernel mistakes a register that was reset
    // (by a suspend of the machine) for one that has wrapped.
    const double most = domain.most.value * domain.counts_per_joule;
    const Advance step = part.total.advance_bounded(*raw, part.range, {.per_second = most, .at_once = most / 4},
                                                    part_begin, machine_.clock.now());
    domain.held = domain.held || step == Advance::held;
    if (step == Advance::reset) {
      domain.restarted = true;
      // It was 0 because it did not count yet: its first value counts in full.
      if (!part.has_counted && part.total.total() == 0) part.total.add(*raw);
    }
    sum += part.total.total();
    part.has_counted = part.has_counted || *raw != 0;
    domain.has_counted = domain.has_counted || part.has_counted;
  }
  domain.count = sum;
  domain.outcome = Unit{};
}

Reading<std::uint64_t> EnergySources::count_of(Domain& domain, Domain::Part& part, Nanoseconds now) {
  if (part.event) {
    const auto count = rapl_->count(*part.event);
    if (count && *count != 0)
      if (const auto joules = rapl_->scaled(*part.event, kJoulesPerCount); joules && *joules > 0)
        domain.counts_per_joule = static_cast<double>(*count) / *joules;
    return count;
  }
  if (now < part.retry_at) return Absent{Reason::permission, EACCES};
  auto count = part.file->number();
  if (count.is_absent()) {
    part.retry_at = now + retry_after_;
    // A zone of powercap goes with its module, and comes back without the GPU's being bound anew.
    if (domain.source == kPowercapSource) part.file = Attribute(machine_.sys, part.file->path());
  }
  return count;
}

Nanoseconds powercap_lap(std::uint64_t range) {
  const std::chrono::duration<double> lap(static_cast<double>(range) / 1e6 / kMostRaplPower.value);
  constexpr std::chrono::hours kLongest{24 * 365};  // a range may be any number
  return lap < kLongest ? std::chrono::duration_cast<Nanoseconds>(lap) : Nanoseconds(kLongest);
}

std::vector<PowercapZone> powercap_zones(const Directory& sys) {
  std::vector<PowercapZone> zones;
  std::array<char, 128> buffer;
  for (const std::string& name : sorted_names(sys, "class/powercap")) {
    if (!name.starts_with("intel-rapl:")) continue;
    const std::string path = "class/powercap/" + name;
    const auto text = sys.read(path + "/name", buffer);
    if (!text) continue;
    const std::string_view domain = domain_of_zone(trim(*text));
    if (domain.empty()) continue;
    std::uint64_t range = 0;
    if (const auto limit = sys.read(path + "/max_energy_range_uj", buffer)) range = scan_u64(*limit).value_or(0);
    zones.push_back({domain, path, Attribute(sys, path + "/energy_uj"), range});
  }
  return zones;
}

}  // namespace igpu
