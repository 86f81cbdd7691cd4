// SPDX-License-Identifier: Apache-2.0
#include "collector/fdinfo_usage.h"

#include <algorithm>
#include <tuple>

namespace igpu {
namespace {

// Corrections of running contexts are far below a second; a counter that steps back further has been reset.
constexpr std::uint64_t kHeldNanoseconds = 1'000'000'000;
constexpr std::uint64_t kHeldCycles = 19'200'000;
// A step back of more than a hundredth of that spoils the window it lies in.
constexpr std::uint64_t kSpoilingPart = 100;
// Clients and processes that were not seen: closed, or hidden for a while by an incomplete walk or unreadable text.
constexpr Nanoseconds kRemember = std::chrono::minutes(15);

double memory_of(const DrmClient& client) {
  double bytes = 0;
  for (const ClientMemory& region : client.memory)
    if (const auto value = region.resident ? region.resident : region.total) bytes += static_cast<double>(*value);
  return bytes;
}

}  // namespace

// What the clients of a process tell about one class in this update.
struct UsageTable::ClassReading {
  std::uint64_t nanoseconds = 0;
  std::uint64_t cycles = 0;
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

void UsageTable::read_class(ClientState& state, const DrmClient& client, std::size_t engine_class, ClassReading& reading) {
  const ClientEngine& engine = client.engines[engine_class];
  if (!engine.present()) return;
  reading.capacity = std::max(reading.capacity, engine.capacity);
  ClientCounter& counter = state.engines[engine_class];
  ClientCounter::Step step;
  std::uint64_t held;
  if (engine.busy_ns) {
    held = kHeldNanoseconds;
    step = counter.advance(*engine.busy_ns, held);
    if (step.restarted && state.before_binding) step.gained = *engine.busy_ns;
    reading.nanoseconds += step.gained;
    reading.clock = static_cast<std::uint64_t>(client.time.count());
  } else {
    held = kHeldCycles;
    std::uint64_t lap = 0;
    auto& last_total = state.total_cycles[engine_class];
    if (engine.total_cycles) {
      if (last_total && *engine.total_cycles > *last_total) {
        // Published in lumps: a little more than the time that has passed is still plausible.
        const std::uint64_t passed = *engine.total_cycles - *last_total;
        lap = (passed + passed / 4 + kHeldCycles) * std::min<std::uint32_t>(engine.capacity, 64);
      }
      last_total = engine.total_cycles;
      reading.clock = std::max(reading.clock.value_or(0), *engine.total_cycles);
      clock_.observe(client.time, *engine.total_cycles);
    }
    step = counter.advance(*engine.cycles, held, lap);
    reading.cycles += step.gained;
  }
  reading.moved += step.moved;
  reading.spoiled = reading.spoiled || step.stepped_back > held / kSpoilingPart;
}

void UsageTable::advance(ProcessState& process, std::span<const DrmClient> clients, Nanoseconds now) {
  std::array<ClassReading, kEngineClasses> readings{};
  for (const DrmClient& client : clients) {
    ClientState& state = clients_[client.id];
    state.last_seen = now;
    for (std::size_t i = 0; i < kEngineClasses; ++i) read_class(state, client, i, readings[i]);
    state.before_binding = false;
  }
  for (std::size_t i = 0; i < kEngineClasses; ++i) {
    const ClassReading& reading = readings[i];
    ClassState& state = process.engines[i];
    state.ratio.reset();
    state.nanoseconds += reading.nanoseconds;
    state.cycles += reading.cycles;
    state.moved += reading.moved;
    if (reading.spoiled) state.window.restart();
    if (!reading.clock) continue;
    const auto delta = state.window.advance(clients.front().time, {state.moved, *reading.clock});
    if (!delta) continue;
    state.ratio = clamped_ratio(static_cast<double>(delta->counts[0]),
                                static_cast<double>(delta->counts[1]) * reading.capacity);
  }
}

UsageTable::Update UsageTable::update(const ClientSnapshot& snapshot, std::span<const DrmClient> clients, std::size_t most,
                                      Nanoseconds min_window) {
  struct Candidate {
    ProcessUsage usage;
    ProcessState* state;
    double recent = 0;     // engines kept busy over the window
    double gained = 0;     // engine time since the last scrape: of those without a window yet
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
    const ProcessKey key{pid, process->start_time_ticks};
    auto known = processes_.find(key);
    if (known == processes_.end()) known = processes_.emplace(key, ProcessState(min_window)).first;
    ProcessState& state = known->second;
    state.last_seen = snapshot.time;

    Candidate& candidate = candidates.emplace_back(Candidate{{&*process, own, {}}, &state});
    const auto sum = [&] {
      double all = 0;
      for (const ClassState& engine : state.engines) all += static_cast<double>(engine.nanoseconds + engine.cycles);
      return all;
    };
    const double before = sum();
    advance(state, own, snapshot.time);
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
    std::nth_element(candidates.begin(), candidates.begin() + static_cast<std::ptrdiff_t>(most), candidates.end(), larger);
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
    return is_old(state.last_seen) || !std::binary_search(snapshot.pids.begin(), snapshot.pids.end(), key.first);
  });
  std::erase_if(clients_, [&](const auto& entry) { return is_old(entry.second.last_seen); });
}

}  // namespace igpu
