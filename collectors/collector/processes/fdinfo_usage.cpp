// SPDX-License-Identifier: Apache-2.0
#include "collector/processes/fdinfo_usage.h"

#include <algorithm>
#include <tuple>

namespace igpu {
namespace {

// Processes whose clients were not seen: closed, or hidden for a while by an incomplete walk or unreadable text.
constexpr Nanoseconds kFdinfoRemember = std::chrono::minutes(15);
// Ended series whose count is kept: PIDs are reused after 32,768 at the earliest, mostly for other programs.
constexpr std::size_t kMostEnded = 8192;

double client_memory(const DrmClient& client) {
  double bytes = 0;
  for (const ClientMemory& region : client.memory)
    if (const auto value = region.resident ? region.resident : region.total) bytes += static_cast<double>(*value);
  return bytes;
}

}  // namespace

// What the clients of a process report for one class in this update.
struct UsageTable::ClassReading {
  EngineTime gained;
  std::uint64_t moved = 0;
  bool spoiled = false;
  std::optional<std::uint64_t> clock;  // nanoseconds of ours (i915), GPU cycles (xe)
  std::uint32_t capacity = 0;
};

UsageTable::ProcessState::ProcessState(Nanoseconds min_window)
    : engines{ClassState(min_window), ClassState(min_window), ClassState(min_window), ClassState(min_window),
              ClassState(min_window)} {
  static_assert(kEngineClasses == 5);
}

// Returns what was gained, in the unit of the clients.
double UsageTable::advance(ProcessState& process, std::span<const DrmClient> clients) {
  std::array<ClassReading, kEngineClasses> readings{};
  for (const DrmClient& client : clients) {
    const ClientGains::Use use = gains_.advance(client);
    for (std::size_t i = 0; i < kEngineClasses; ++i) {
      const ClientEngine& engine = client.engines[i];
      if (!engine.present()) continue;
      ClassReading& reading = readings[i];
      reading.capacity = std::max(reading.capacity, engine.capacity);
      reading.gained.add(use.steps[i]);
      reading.moved += use.steps[i].moved;
      // What a client did before it became visible is not of this window.
      reading.spoiled = reading.spoiled || use.steps[i].spoiled || (!use.is_recent && use.steps[i].gained > 0);
      if (!use.steps[i].in_cycles) reading.clock = static_cast<std::uint64_t>(client.time.count());
      if (use.steps[i].in_cycles && engine.total_cycles)
        reading.clock = std::max(reading.clock.value_or(0), *engine.total_cycles);
    }
  }
  double gained = 0;
  for (std::size_t i = 0; i < kEngineClasses; ++i) {
    const ClassReading& reading = readings[i];
    ClassState& state = process.engines[i];
    gained += static_cast<double>(reading.gained.nanoseconds + reading.gained.waiting_cycles);
    state.ratio.reset();
    state.time.add(reading.gained);
    state.moved += reading.moved;
    if (reading.spoiled) state.window.restart();
    if (!reading.clock) continue;
    const auto delta = state.window.advance(clients.front().time, {state.moved, *reading.clock});
    if (!delta) continue;
    state.ratio =
        clamped_ratio(static_cast<double>(delta->counts[0]), static_cast<double>(delta->counts[1]) * reading.capacity);
  }
  return gained;
}

UsageTable::ProcessState& UsageTable::series_of(const ClientProcess& process, Nanoseconds min_window) {
  const SeriesKey key{process.pid, process.comm};
  auto known = processes_.find(key);
  if (known == processes_.end()) {
    known = processes_.emplace(key, ProcessState(min_window)).first;
    ProcessState& state = known->second;
    state.start_time_ticks = process.start_time_ticks;
    if (const auto before = ended_.extract(key)) {
      for (std::size_t i = 0; i < kEngineClasses; ++i) state.engines[i].time = before.mapped().engines[i];
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
  const std::optional<double> hertz = clients.empty() ? std::nullopt : snapshot.hertz(clients.front().device);
  gains_.begin_scan(snapshot);
  while (!clients.empty()) {
    const std::uint32_t pid = clients.front().pid;
    std::size_t count = 1;
    while (count < clients.size() && clients[count].pid == pid) ++count;
    const auto own = clients.first(count);
    clients = clients.subspan(count);

    const ClientProcess* const process = snapshot.process(pid);
    if (process == nullptr) continue;
    ProcessState& state = series_of(*process, min_window);
    Candidate& candidate = candidates.emplace_back(Candidate{{process, own, {}, {}}, &state});
    if (state.cpu) candidate.usage.cpu = Seconds{state.cpu_of_earlier.value + state.cpu->value};
    candidate.gained = advance(state, own);
    state.last_seen = snapshot.time;
    for (const ClassState& engine : state.engines) candidate.recent += engine.ratio.value_or(Ratio{}).value;
    for (const DrmClient& client : own) candidate.memory += client_memory(client);
  }
  gains_.end_scan();
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
    std::ranges::sort(
        candidates, [](const Candidate& a, const Candidate& b) { return a.usage.process->pid < b.usage.process->pid; });
  }
  update.processes.reserve(candidates.size());
  for (Candidate& candidate : candidates) {
    for (std::size_t i = 0; i < kEngineClasses; ++i) {
      ClassUsage& usage = candidate.usage.engines[i];
      ClassState& state = candidate.state->engines[i];
      for (const DrmClient& client : candidate.usage.clients) usage.shown = usage.shown || client.engines[i].present();
      if (!usage.shown) continue;
      usage.busy_ratio = state.ratio;
      if (state.time.convert(hertz)) usage.busy = Seconds{state.time.seconds()};
    }
    update.processes.push_back(candidate.usage);
  }
  return update;
}

void UsageTable::device_was_bound() { restart_windows(); }

void UsageTable::note_sleep(Nanoseconds now) {
  gains_.note_sleep(now);
  restart_windows();
}

void UsageTable::restart_windows() {
  for (auto& [key, process] : processes_)
    for (ClassState& engine : process.engines) engine.window.restart();
}

void UsageTable::forget_the_ended(const ClientSnapshot& snapshot) {
  std::erase_if(processes_, [&](const auto& entry) {
    const auto& [key, state] = entry;
    if (state.last_seen == snapshot.time) return false;
    const bool ended = snapshot.time - state.last_seen > kFdinfoRemember || !snapshot.runs(key.first);
    if (ended) keep_count(key, state);
    return ended;
  });
}

void UsageTable::keep_count(const SeriesKey& key, const ProcessState& state) {
  Ended ended;
  for (std::size_t i = 0; i < kEngineClasses; ++i) ended.engines[i] = state.engines[i].time;
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
