// SPDX-License-Identifier: Apache-2.0
#include "collector/engines_clients.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "collector/engines.h"

namespace igpu {
namespace {

// Clients that were not seen: closed, or hidden for a while by an incomplete walk or unreadable text.
constexpr Nanoseconds kRemember = std::chrono::minutes(15);

struct ByDevice {
  bool operator()(const DrmClient& client, std::string_view address) const { return client.device < address; }
  bool operator()(std::string_view address, const DrmClient& client) const { return address < client.device; }
};

std::span<const DrmClient> clients_of(const ClientSnapshot& snapshot, std::string_view device) {
  const auto [begin, end] = std::equal_range(snapshot.clients.begin(), snapshot.clients.end(), device, ByDevice{});
  return {begin, end};
}

std::uint64_t nanoseconds_of(std::uint64_t cycles, double hertz) {
  return static_cast<std::uint64_t>(std::llround(static_cast<double>(cycles) * 1e9 / hertz));
}

}  // namespace

ClientEngineTime::ClientEngineTime(CounterMemory& memory, std::string_view device, Nanoseconds min_window)
    : device_(device),
      totals_(memory.own<Totals>()),
      classes_{ClassState(min_window), ClassState(min_window), ClassState(min_window), ClassState(min_window),
               ClassState(min_window)} {
  static_assert(kEngineClasses == 5);
  clock().pause();
}

void ClientEngineTime::add_client(const DrmClient& client, bool is_new, Nanoseconds elapsed, Client& state,
                                  std::array<Gain, kEngineClasses>& gains) {
  for (std::size_t i = 0; i < kEngineClasses; ++i) {
    const ClientEngine& engine = client.engines[i];
    if (!engine.present()) continue;
    totals_.reported[i] = true;
    Gain& gain = gains[i];
    gain.capacity = std::max(gain.capacity, engine.capacity);
    const ClientEngineCounter::Step step = state.engines[i].advance(engine, client.time, clock());
    // A client that appears with more than fits into the time since the last scan is not new, only newly visible.
    if (is_new && static_cast<double>(step.gained) > ClientEngineCounter::most(engine, elapsed, clock())) continue;
    (step.in_cycles ? gain.cycles : gain.nanoseconds) += step.gained;
    gain.spoiled = gain.spoiled || step.spoiled;
  }
}

void ClientEngineTime::take(std::size_t engine_class, const Gain& gain, Nanoseconds now) {
  ClassState& state = classes_[engine_class];
  std::uint64_t& total = totals_.nanoseconds[engine_class];
  state.ratio.reset();
  total += gain.nanoseconds;
  const bool waited = state.cycles != 0;
  state.cycles += gain.cycles;
  if (state.cycles != 0) {
    const auto hertz = clock().hertz();
    if (hertz) total += nanoseconds_of(std::exchange(state.cycles, 0), *hertz);
    // Cycles that were kept until the rate was known belong to earlier windows.
    if (!hertz || waited) state.window.restart();
    if (!hertz) return;
  }
  if (gain.spoiled) state.window.restart();
  advance(engine_class, gain.capacity, now);
}

void ClientEngineTime::advance(std::size_t engine_class, std::uint32_t capacity, Nanoseconds now) {
  ClassState& state = classes_[engine_class];
  const auto delta = state.window.advance(now, {totals_.nanoseconds[engine_class] + state.pmu});
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
    if (spoiled || state.cycles != 0) state.window.restart();
    advance(i, 0, now);
  }
}

void ClientEngineTime::asleep(Nanoseconds now) {
  clock().pause();
  if (needs_baseline_) return;
  if (!last_scan_) last_was_complete_ = true;
  last_scan_ = now;
}

bool ClientEngineTime::awaits_rate() const {
  return std::any_of(classes_.begin(), classes_.end(), [](const ClassState& state) { return state.cycles != 0; });
}

void ClientEngineTime::learn_rate(const ClientSnapshot& snapshot) {
  for (const DrmClient& client : clients_of(snapshot, device_))
    for (const ClientEngine& engine : client.engines)
      if (engine.total_cycles) clock().observe(client.time, *engine.total_cycles);
  const auto hertz = clock().hertz();
  if (!hertz) return;
  for (std::size_t i = 0; i < kEngineClasses; ++i) {
    if (classes_[i].cycles == 0) continue;
    totals_.nanoseconds[i] += nanoseconds_of(std::exchange(classes_[i].cycles, 0), *hertz);
    classes_[i].window.restart();  // belongs to earlier windows
  }
}

// Whether the id now belongs to another client: it has another holder and a lower count. Only for i915 before Linux
// 6.5, whose clients count nanoseconds, and only if the previous holder was read, or has ended.
bool ClientEngineTime::has_been_given_again(const Client& state, const DrmClient& client,
                                            const ClientSnapshot& snapshot) {
  if (state.pid == client.pid) return false;
  if (!snapshot.complete && std::binary_search(snapshot.pids.begin(), snapshot.pids.end(), state.pid)) return false;
  for (std::size_t i = 0; i < kEngineClasses; ++i)
    if (client.engines[i].busy_ns && state.engines[i].would_step_back(client.engines[i])) return true;
  return false;
}

// What the clients counted since the last scan; zero at the first scan.
std::array<ClientEngineTime::Gain, kEngineClasses> ClientEngineTime::gather(const ClientSnapshot& snapshot) {
  const bool counts = last_scan_.has_value();
  const Nanoseconds elapsed = counts ? snapshot.time - *last_scan_ : Nanoseconds::zero();
  std::array<Gain, kEngineClasses> gains{};
  for (const DrmClient& client : clients_of(snapshot, device_)) {
    const auto [entry, is_unknown] = clients_.try_emplace(client.id);
    const bool is_new = is_unknown || has_been_given_again(entry->second, client, snapshot);
    if (is_new) entry->second = Client{};
    entry->second.pid = client.pid;
    entry->second.seen = snapshot.time;
    // After an incomplete walk an unknown client may be an old one.
    const bool baseline_only = !counts || (is_new && !last_was_complete_);
    std::array<Gain, kEngineClasses> ignored{};
    add_client(client, is_new, elapsed, entry->second, baseline_only ? ignored : gains);
    for (std::size_t i = 0; i < kEngineClasses; ++i) {
      if (!client.engines[i].present()) continue;
      gains[i].offsets += std::max(client.time - snapshot.time, Nanoseconds::zero());
      ++gains[i].clients;
    }
  }
  std::erase_if(clients_, [&](const auto& entry) { return snapshot.time - entry.second.seen > kRemember; });
  last_scan_ = snapshot.time;
  last_was_complete_ = snapshot.complete;
  needs_baseline_ = false;
  return gains;
}

bool ClientEngineTime::scan(const ClientSnapshot& snapshot) {
  std::array<Gain, kEngineClasses> gains = gather(snapshot);
  const auto clients = clients_of(snapshot, device_);
  // A client without engine time (the kernel does not report it) may use any engine.
  const bool some_silent = std::any_of(clients.begin(), clients.end(), [](const DrmClient& client) {
    return std::none_of(client.engines.begin(), client.engines.end(),
                        [](const ClientEngine& engine) { return engine.present(); });
  });
  const bool all_report = snapshot.shows_all() && !some_silent;
  bool moved = false;
  for (std::size_t i = 0; i < kEngineClasses; ++i) {
    // A walk that missed clients gives no ratio.
    gains[i].spoiled = gains[i].spoiled || !snapshot.complete;
    moved = moved || gains[i].nanoseconds != 0 || gains[i].cycles != 0;
    ClassState& state = classes_[i];
    state.known = gains[i].clients > 0 || (all_report && (totals_.reported[i] || engines_[i] != 0));
    state.has_zero = !some_silent && (state.has_zero || state.known);
    take(i, gains[i], snapshot.time + gains[i].offsets / std::max<std::uint32_t>(gains[i].clients, 1));
  }
  return moved;
}

void ClientEngineTime::count_gap(const ClientSnapshot& snapshot, const PmuCount& pmu) {
  const auto clients = clients_of(snapshot, device_);
  const auto hertz = clock().hertz();
  if (last_scan_ && hertz && !clients.empty() && pmu.until > pmu.from) {
    const double gap = static_cast<double>((pmu.from - *last_scan_).count());
    // Both counts at the same time.
    const double share = to_seconds(clients.front().time - pmu.from).value / to_seconds(pmu.until - pmu.from).value;
    const std::array<Gain, kEngineClasses> gains = gather(snapshot);
    for (std::size_t i = 0; i < kEngineClasses; ++i) {
      const double ours =
          static_cast<double>(gains[i].nanoseconds) + static_cast<double>(gains[i].cycles) * 1e9 / *hertz;
      const double missed = ours - static_cast<double>(pmu.nanoseconds[i]) * share;
      const double most = gap * gains[i].capacity;
      if (missed > 0 && most > 0) totals_.nanoseconds[i] += static_cast<std::uint64_t>(std::min(missed, most));
    }
  }
  forget();
}

void ClientEngineTime::forget() {
  clients_.clear();
  last_scan_.reset();
  needs_baseline_ = true;
}

void ClientEngineTime::lost() {
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
      seconds[i] = static_cast<double>(counted[i] + totals_.nanoseconds[i]) / 1e9;
  return seconds;
}

void ClientEngineTime::write(SampleSink& out, bool with_ratios) const {
  for (std::size_t i = 0; i < kEngineClasses; ++i) {
    const ClassState& state = classes_[i];
    if (!totals_.reported[i] && !state.has_zero) continue;
    const std::string_view label = kEngineClassNames[i].label;
    out.add(EnginesCollector::kBusy, {device_, "", label, label, "fdinfo"},
            Seconds{static_cast<double>(totals_.nanoseconds[i]) / 1e9});
    if (with_ratios && state.known && state.ratio)
      out.add(EnginesCollector::kBusyRatio, {device_, "", label, label, "fdinfo"}, *state.ratio);
  }
}

}  // namespace igpu
