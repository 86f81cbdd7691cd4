// SPDX-License-Identifier: Apache-2.0
#include "collector/fdinfo_usage.h"

#include <algorithm>
#include <tuple>

namespace igpu {
namespace {

// Clients and processes that were not seen: closed, or hidden for a while by an incomplete walk or unreadable text.
constexpr Nanoseconds kRemember = std::chrono::minutes(15);
// Ended series whose count is kept: PIDs are reused after 32,768 at the earliest, mostly for other programs.
constexpr std::size_t kMostEnded = 8192;

double memory_of(const DrmClient& client) {
  double bytes = 0;
  for (const ClientMemory& region : client.memory)
    if (const auto value = region.resident ? region.resident : region.total) bytes += static_cast<double>(*value);
  return bytes;
}

}  // namespace

// What the clients of a process report for one class in this update.
struct UsageTable::ClassReading {
  std::uint64_t nanoseconds = 0;
  std::uint64_t cycles = 0;
  std::uint64_t moved = 0;
  bool spoiled = false;
  double brought = 0;                  // seconds, by clients that were not seen before
  std::optional<std::uint64_t> clock;  // nanoseconds of ours (i915), GPU cycles (xe)
  std::uint32_t capacity = 0;
};

UsageTable::ProcessState::ProcessState(Nanoseconds min_window)
    : engines{ClassState(min_window), ClassState(min_window), ClassState(min_window), ClassState(min_window),
              ClassState(min_window)} {
  static_assert(kEngineClasses == 5);
}

// Whether the id now belongs to another client. Only if the previous holder was read, or has ended: an incomplete walk
// may report a shared client under any of its holders.
bool UsageTable::is_another(const ClientState& state, const DrmClient& client, const Holder& holder,
                            const ClientSnapshot& snapshot) const {
  if (!state.holder || *state.holder == holder) return false;
  const bool has_ended = state.holder->first == holder.first ||
                         !std::binary_search(snapshot.pids.begin(), snapshot.pids.end(), state.holder->first);
  if (!snapshot.complete && !has_ended) return false;
  for (std::size_t i = 0; i < kEngineClasses; ++i) {
    if (state.engines[i].would_step_back(client.engines[i])) return true;
  }
  return false;
}

void UsageTable::read_class(ClientState& state, const DrmClient& client, std::size_t engine_class,
                            ClassReading& reading) {
  const ClientEngine& engine = client.engines[engine_class];
  if (!engine.present()) return;
  reading.capacity = std::max(reading.capacity, engine.capacity);
  ClientEngineCounter::Step step = state.engines[engine_class].advance(engine, client.time, clock_);
  if (step.in_cycles) {
    if (engine.total_cycles) reading.clock = std::max(reading.clock.value_or(0), *engine.total_cycles);
    reading.cycles += step.gained;
  } else {
    if (step.restarted && state.before_binding) step.gained = *engine.busy_ns;
    reading.clock = static_cast<std::uint64_t>(client.time.count());
    reading.nanoseconds += step.gained;
  }
  if (!state.holder)
    reading.brought +=
        static_cast<double>(step.gained) / (step.in_cycles ? ClientEngineCounter::hertz_of(clock_) : 1e9);
  reading.moved += step.moved;
  reading.spoiled = reading.spoiled || step.spoiled;
}

void UsageTable::advance(ProcessState& process, std::span<const DrmClient> clients, const Holder& holder,
                         const ClientSnapshot& snapshot) {
  std::array<ClassReading, kEngineClasses> readings{};
  for (const DrmClient& client : clients) {
    ClientState& state = clients_[client.id];
    if (is_another(state, client, holder, snapshot)) state = ClientState{};
    state.last_seen = snapshot.time;
    for (std::size_t i = 0; i < kEngineClasses; ++i) read_class(state, client, i, readings[i]);
    state.holder = holder;
    state.before_binding = false;
  }
  for (std::size_t i = 0; i < kEngineClasses; ++i) {
    const ClassReading& reading = readings[i];
    ClassState& state = process.engines[i];
    state.ratio.reset();
    state.nanoseconds += reading.nanoseconds;
    state.cycles += reading.cycles;
    state.moved += reading.moved;
    // A client that appears with more than it can have used since the last scan is older than that.
    constexpr double kLump = 0.1;
    const double since =
        to_seconds(snapshot.time - process.last_seen).value * std::max<std::uint32_t>(reading.capacity, 1);
    if (reading.spoiled || reading.brought > since * 1.25 + kLump) state.window.restart();
    if (!reading.clock) continue;
    const auto delta = state.window.advance(clients.front().time, {state.moved, *reading.clock});
    if (!delta) continue;
    state.ratio =
        clamped_ratio(static_cast<double>(delta->counts[0]), static_cast<double>(delta->counts[1]) * reading.capacity);
  }
}

UsageTable::ProcessState& UsageTable::series_of(const ClientProcess& process, Nanoseconds min_window) {
  const SeriesKey key{process.pid, process.comm};
  auto known = processes_.find(key);
  if (known == processes_.end()) {
    known = processes_.emplace(key, ProcessState(min_window)).first;
    ProcessState& state = known->second;
    state.start_time_ticks = process.start_time_ticks;
    if (const auto before = ended_.extract(key)) {
      for (std::size_t i = 0; i < kEngineClasses; ++i) {
        state.engines[i].seconds = before.mapped().seconds[i];
        state.engines[i].cycles = before.mapped().cycles[i];
      }
      state.cpu_of_earlier = before.mapped().cpu;
    }
  }
  ProcessState& state = known->second;
  if (state.start_time_ticks != process.start_time_ticks) {
    state.start_time_ticks = process.start_time_ticks;
    state.cpu_of_earlier.value += state.cpu.value_or(Seconds{}).value;
    state.cpu.reset();
    for (ClassState& engine : state.engines) engine.window.restart();
  }
  if (process.cpu) state.cpu = process.cpu;
  return state;
}

UsageTable::Update UsageTable::update(const ClientSnapshot& snapshot, std::span<const DrmClient> clients,
                                      std::size_t most, Nanoseconds min_window) {
  struct Candidate {
    ProcessUsage usage;
    ProcessState* state;
    double recent = 0;  // engines kept busy over the window
    double gained = 0;  // engine time since the last scrape: of those without a window yet
    double memory = 0;
  };
  std::vector<Candidate> candidates;
  for (auto process = snapshot.processes.begin(); !clients.empty();) {
    const std::uint32_t pid = clients.front().pid;
    std::size_t count = 1;
    while (count < clients.size() && clients[count].pid == pid) ++count;
    const auto own = clients.first(count);
    clients = clients.subspan(count);

    process = std::lower_bound(process, snapshot.processes.end(), pid,
                               [](const ClientProcess& p, std::uint32_t wanted) { return p.pid < wanted; });
    if (process == snapshot.processes.end() || process->pid != pid) continue;
    ProcessState& state = series_of(*process, min_window);
    Candidate& candidate = candidates.emplace_back(Candidate{{&*process, own, {}, {}}, &state});
    if (state.cpu) candidate.usage.cpu = Seconds{state.cpu_of_earlier.value + state.cpu->value};
    const auto sum = [&] {
      double all = 0;
      for (const ClassState& engine : state.engines) all += static_cast<double>(engine.nanoseconds + engine.cycles);
      return all;
    };
    const double before = sum();
    advance(state, own, {pid, process->start_time_ticks}, snapshot);
    state.last_seen = snapshot.time;
    candidate.gained = sum() - before;
    for (const ClassState& engine : state.engines) candidate.recent += engine.ratio.value_or(Ratio{}).value;
    for (const DrmClient& client : own) candidate.memory += memory_of(client);
  }
  forget_the_ended(snapshot);

  Update update;
  if (candidates.size() > most) {
    update.dropped = candidates.size() - most;
    const auto larger = [](const Candidate& a, const Candidate& b) {
      return std::tie(b.recent, b.gained, b.memory, a.usage.process->pid) <
             std::tie(a.recent, a.gained, a.memory, b.usage.process->pid);
    };
    std::nth_element(candidates.begin(), candidates.begin() + static_cast<std::ptrdiff_t>(most), candidates.end(),
                     larger);
    candidates.resize(most);
    std::sort(candidates.begin(), candidates.end(),
              [](const Candidate& a, const Candidate& b) { return a.usage.process->pid < b.usage.process->pid; });
  }
  update.processes.reserve(candidates.size());
  for (Candidate& candidate : candidates) {
    for (std::size_t i = 0; i < kEngineClasses; ++i) {
      ClassUsage& usage = candidate.usage.engines[i];
      ClassState& state = candidate.state->engines[i];
      for (const DrmClient& client : candidate.usage.clients) usage.shown = usage.shown || client.engines[i].present();
      if (!usage.shown) continue;
      usage.busy_ratio = state.ratio;
      if (const auto hertz = clock_.hertz(); hertz && state.converted != state.cycles) {
        state.seconds += static_cast<double>(state.cycles - state.converted) / *hertz;
        state.converted = state.cycles;
      }
      if (state.converted == state.cycles)
        usage.busy = Seconds{state.seconds + static_cast<double>(state.nanoseconds) / 1e9};
    }
    update.processes.push_back(candidate.usage);
  }
  return update;
}

void UsageTable::device_was_bound() {
  for (auto& [id, client] : clients_) client.before_binding = true;
  restart_windows();
}

void UsageTable::restart_windows() {
  for (auto& [key, process] : processes_)
    for (ClassState& engine : process.engines) engine.window.restart();
  clock_.pause();
}

void UsageTable::forget_the_ended(const ClientSnapshot& snapshot) {
  const auto is_old = [&](Nanoseconds last_seen) { return snapshot.time - last_seen > kRemember; };
  std::erase_if(processes_, [&](const auto& entry) {
    const auto& [key, state] = entry;
    if (state.last_seen == snapshot.time) return false;
    const bool ended =
        is_old(state.last_seen) || !std::binary_search(snapshot.pids.begin(), snapshot.pids.end(), key.first);
    if (ended) keep_count(key, state);
    return ended;
  });
  std::erase_if(clients_, [&](const auto& entry) { return is_old(entry.second.last_seen); });
}

void UsageTable::keep_count(const SeriesKey& key, const ProcessState& state) {
  Ended ended;
  for (std::size_t i = 0; i < kEngineClasses; ++i) {
    const ClassState& engine = state.engines[i];
    ended.seconds[i] = engine.seconds + static_cast<double>(engine.nanoseconds) / 1e9;
    ended.cycles[i] = engine.cycles - engine.converted;
  }
  ended.cpu.value = state.cpu_of_earlier.value + state.cpu.value_or(Seconds{}).value;
  ended.last_seen = state.last_seen;
  ended_.insert_or_assign(key, ended);
  if (ended_.size() <= kMostEnded) return;
  // Removes several at once, those that ended first.
  std::vector<Nanoseconds> times;
  times.reserve(ended_.size());
  for (const auto& [other, count] : ended_) times.push_back(count.last_seen);
  const auto last_to_go = times.begin() + kMostEnded / 8;
  std::nth_element(times.begin(), last_to_go, times.end());
  std::erase_if(ended_, [&](const auto& entry) { return entry.second.last_seen <= *last_to_go; });
}

}  // namespace igpu
