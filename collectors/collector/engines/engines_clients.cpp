// SPDX-License-Identifier: Apache-2.0
#include "collector/engines/engines_clients.h"

#include <algorithm>

#include "collector/engines/engines.h"

namespace igpu {

ClientEngineTime::ClientEngineTime(CounterMemory& memory, std::string_view device, Nanoseconds min_window)
    : device_(device),
      totals_(memory.own<Totals>()),
      classes_{ClassState(min_window), ClassState(min_window), ClassState(min_window), ClassState(min_window),
               ClassState(min_window)} {
  static_assert(kEngineClasses == 5);
  totals_.gains.forget_clients();
}

void ClientEngineTime::add_gain(std::size_t engine_class, const Gain& gain, std::optional<double> hertz,
                                Nanoseconds now) {
  ClassState& state = classes_[engine_class];
  EngineTime& total = totals_.time[engine_class];
  state.ratio.reset();
  const bool waited = total.waiting_cycles != 0;
  total.add(gain.time);
  const bool is_converted = total.convert(hertz);
  // Cycles that were kept until the rate was known belong to earlier windows.
  if (waited || gain.spoiled || !is_converted) state.window.restart();
  if (is_converted) advance(engine_class, gain.capacity, now);
}

void ClientEngineTime::advance(std::size_t engine_class, std::uint32_t capacity, Nanoseconds now) {
  ClassState& state = classes_[engine_class];
  const auto delta = state.window.advance(now, {totals_.time[engine_class].nanoseconds + state.pmu});
  if (!delta) return;
  const std::uint32_t engines = std::max({capacity, engines_[engine_class], std::uint32_t{1}});
  state.ratio =
      clamped_ratio(static_cast<double>(delta->counts[0]), static_cast<double>(delta->elapsed.count()) * engines);
}

void ClientEngineTime::pmu_measured(Nanoseconds now, const ByClass& counted, bool spoiled) {
  const ByClass before = pmu_counted_.value_or(counted);
  pmu_counted_ = counted;
  for (std::size_t i = 0; i < kEngineClasses; ++i) {
    ClassState& state = classes_[i];
    state.ratio.reset();
    state.pmu += counted[i] - before[i];
    state.known = engines_[i] != 0;
    if (spoiled || totals_.time[i].waiting_cycles != 0) state.window.restart();
    advance(i, 0, now);
  }
}

bool ClientEngineTime::awaits_rate() const {
  return std::ranges::any_of(totals_.time, [](const EngineTime& time) { return time.waiting_cycles != 0; });
}

void ClientEngineTime::use_rate(const ClientSnapshot& snapshot) {
  for (std::size_t i = 0; i < kEngineClasses; ++i) {
    if (totals_.time[i].waiting_cycles == 0) continue;
    totals_.time[i].convert(snapshot.hertz(device_));
    classes_[i].window.restart();  // belongs to earlier windows
  }
}

// What the clients counted since the last scan; zero at the first scan.
std::array<ClientEngineTime::Gain, kEngineClasses> ClientEngineTime::gather(const ClientSnapshot& snapshot) {
  std::array<Gain, kEngineClasses> gains{};
  totals_.gains.begin_scan(snapshot);
  for (const DrmClient& client : snapshot.clients_of(device_)) {
    const ClientGains::Use use = totals_.gains.advance(client);
    for (std::size_t i = 0; i < kEngineClasses; ++i) {
      const ClientEngine& engine = client.engines[i];
      if (!engine.present()) continue;
      totals_.reported[i] = true;
      Gain& gain = gains[i];
      gain.offsets += std::max(client.time - snapshot.time, Nanoseconds::zero());
      ++gain.clients;
      gain.capacity = std::max(gain.capacity, engine.capacity);
      if (!use.is_recent) continue;
      gain.time.add(use.steps[i]);
      gain.spoiled = gain.spoiled || use.steps[i].spoiled;
    }
  }
  totals_.gains.end_scan();
  needs_baseline_ = false;
  return gains;
}

bool ClientEngineTime::scan(const ClientSnapshot& snapshot) {
  std::array<Gain, kEngineClasses> gains = gather(snapshot);
  const auto clients = snapshot.clients_of(device_);
  // A client without engine time (the kernel does not report it) may use any engine.
  const bool some_silent =
      std::ranges::any_of(clients, [](const DrmClient& client) { return !client.reports_engine_time(); });
  const bool all_report = snapshot.shows_all() && !some_silent;
  const std::optional<double> hertz = snapshot.hertz(device_);
  bool moved = false;
  for (std::size_t i = 0; i < kEngineClasses; ++i) {
    // A walk that missed clients gives no ratio.
    gains[i].spoiled = gains[i].spoiled || !snapshot.complete;
    moved = moved || gains[i].time.nanoseconds != 0 || gains[i].time.waiting_cycles != 0;
    ClassState& state = classes_[i];
    state.known = gains[i].clients > 0 || (all_report && (totals_.reported[i] || engines_[i] != 0));
    state.has_zero = !some_silent && (state.has_zero || state.known);
    add_gain(i, gains[i], hertz, snapshot.time + gains[i].offsets / std::max<std::uint32_t>(gains[i].clients, 1));
  }
  return moved;
}

bool ClientEngineTime::scan(ScrapePass& pass, SampleSink& out) {
  const auto snapshot = pass.clients();
  if (snapshot.is_failure()) out.failed(snapshot.failure());
  if (snapshot) (void)scan(**snapshot);
  return static_cast<bool>(snapshot);
}

void ClientEngineTime::count_gap(const ClientSnapshot& snapshot, const PmuCount& pmu) {
  const auto clients = snapshot.clients_of(device_);
  const auto last_scan = totals_.gains.last_scan();
  const std::optional<double> hertz = snapshot.hertz(device_);
  if (last_scan && hertz && !clients.empty() && pmu.until > pmu.from) {
    const double gap = static_cast<double>((pmu.from - *last_scan).count());
    // Both counts at the same time.
    const double share = to_seconds(clients.front().time - pmu.from).value / to_seconds(pmu.until - pmu.from).value;
    std::array<Gain, kEngineClasses> gains = gather(snapshot);
    for (std::size_t i = 0; i < kEngineClasses; ++i) {
      gains[i].time.convert(hertz);
      const double missed =
          static_cast<double>(gains[i].time.nanoseconds) - static_cast<double>(pmu.nanoseconds[i]) * share;
      const double most = gap * gains[i].capacity;
      if (missed > 0 && most > 0) totals_.time[i].nanoseconds += static_cast<std::uint64_t>(std::min(missed, most));
    }
  }
  forget();
}

void ClientEngineTime::forget() {
  totals_.gains.forget_clients();
  needs_baseline_ = true;
}

void ClientEngineTime::skip_gap() {
  forget();
  for (ClassState& state : classes_) {
    state.window.restart();
    state.ratio.reset();
  }
}

EngineSeconds ClientEngineTime::total_with(const ByClass& counted) const {
  EngineSeconds seconds;
  for (std::size_t i = 0; i < kEngineClasses; ++i)
    if (engines_[i] != 0 || totals_.reported[i])
      seconds[i] = static_cast<double>(counted[i] + totals_.time[i].nanoseconds) / 1e9;
  return seconds;
}

void ClientEngineTime::write(SampleSink& out, bool with_ratios) const {
  for (std::size_t i = 0; i < kEngineClasses; ++i) {
    const ClassState& state = classes_[i];
    if (!totals_.reported[i] && !state.has_zero) continue;
    const std::string_view label = kEngineClassNames[i].label;
    out.add(EnginesCollector::kBusy, {device_, "", label, label, "fdinfo"}, Seconds{totals_.time[i].seconds()});
    if (with_ratios && state.known && state.ratio)
      out.add(EnginesCollector::kBusyRatio, {device_, "", label, label, "fdinfo"}, *state.ratio);
  }
}

}  // namespace igpu
