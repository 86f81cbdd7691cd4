// SPDX-License-Identifier: Apache-2.0
#include "source/pmu_session.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <mutex>
#include <optional>
#include <utility>

#include "base/held_counter.h"
#include "source/pmu_description.h"
#include "source/pmu_group.h"

namespace igpu {
namespace {

Failure failure(std::errc code, std::string where) { return {std::make_error_code(code), std::move(where)}; }
Failure hangs(const std::string& pmu) {
  return failure(kWaitsForAnother, "an earlier read of the perf group of " + pmu + " has not come back");
}

}  // namespace

struct PmuSession::State {
  struct Event {
    std::string name;
    PmuDescription::Terms terms;
    MonotonicCounter* total = nullptr;
    PmuDescription::Event described;

    // Of the open group.
    Reading<Unit> counts = Absent{Reason::kernel, 0};
    HeldCounter counter;
    std::uint64_t sum = 0;   // over all CPUs, being added up
    std::uint64_t base = 0;  // where raw starts
    std::uint64_t raw = 0;
  };

  State(Machine& the_machine, CounterMemory& the_memory, std::string pmu, std::string prefix)
      : machine(the_machine),
        memory(the_memory),
        name(std::move(pmu)),
        memory_prefix(std::move(prefix)),
        description(machine.sys, name) {}

  Reading<Unit> update();
  Reading<std::uint32_t> identify();
  void describe();
  Reading<Unit> open(std::uint32_t type);
  Reading<Unit> open_group(std::uint32_t type, int cpu, PmuGroup& group);
  Reading<Unit> read();
  Reading<Unit> lost();
  void take_values();
  void close_groups() {
    groups.clear();
    is_open = false;
  }
  template <class T, class F>
  Reading<T> value(Handle handle, F&& pick);

  Machine& machine;
  CounterMemory& memory;
  const std::string name;
  const std::string memory_prefix;

  // Held by the one thread that reads; a thread that hangs in a read must not block the others.
  std::mutex mutex;
  std::vector<Event> events;
  PmuDescription description;
  std::uint32_t described_type = 0;
  bool described = false;
  bool has_new_events = false;  // events that are not in the open group
  std::vector<PmuGroup> groups;
  std::atomic<Nanoseconds> time{};
  std::atomic<std::uint64_t> generation{0};
  std::atomic<bool> is_open{false};
  std::optional<std::uint64_t> pass;
  Reading<Unit> outcome = Absent{Reason::kernel, 0};
};

Reading<std::uint32_t> PmuSession::State::identify() {
  auto identity = description.identify();
  if (identity.may_be_another_pmu) {
    close_groups();
    described = false;
  }
  return std::move(identity.type);
}

void PmuSession::State::describe() {
  const std::vector<PmuField> fields = description.fields();
  for (Event& event : events) event.described = description.describe(event.name, event.terms, fields);
}

Reading<Unit> PmuSession::State::open_group(std::uint32_t type, int cpu, PmuGroup& group) {
  for (std::size_t i = 0; i < events.size(); ++i) {
    Event& event = events[i];
    if (!event.described.config) {
      event.counts = event.described.config.propagate<Unit>();
      continue;
    }
    const auto added = group.add(machine.perf, {type, *event.described.config}, cpu, i);
    if (added) {
      event.counts = added;
    } else if (added.is_failure() || added.absent().reason == Reason::permission) {
      return added;
    } else if (!event.counts) {  // else it counts on another CPU
      event.counts = added.absent();
    }
  }
  return Unit{};
}

Reading<Unit> PmuSession::State::open(std::uint32_t type) {
  for (Event& event : events) event.counts = Absent{Reason::kernel, 0};
  for (const int cpu : description.cpus()) {
    PmuGroup group;
    if (const auto opened = open_group(type, cpu, group); !opened) {
      close_groups();
      for (Event& event : events) event.counts = opened;
      return opened;
    }
    if (!group.members().empty()) groups.push_back(std::move(group));
  }
  if (groups.empty()) {
    if (events.empty()) return Absent{Reason::kernel, ENOENT};
    return events.front().counts;
  }
  for (Event& event : events) {
    event.counter = HeldCounter::from_zero();
    event.base = event.raw = 0;
  }
  is_open = true;
  ++generation;
  return Unit{};
}

// The group is not the one that was opened: its device is gone.
Reading<Unit> PmuSession::State::lost() {
  close_groups();
  if (const auto type = identify(); !type) return type.propagate<Unit>();
  return failure(std::errc::no_such_device, "perf group of " + name + " was dissolved");
}

void PmuSession::State::take_values() {
  for (Event& event : events) event.sum = 0;
  for (const PmuGroup& group : groups)
    for (const PmuGroup::Member& member : group.members()) events[member.event].sum += member.count;
  for (Event& event : events) {
    if (!event.counts) continue;
    const HeldCounter::Step step = event.counter.advance(event.sum, event.described.largest_correction);
    event.total->add(step.gained);
    if (step.restarted) event.base = event.sum;
    const std::uint64_t raw = event.sum - event.base;
    event.raw = static_cast<std::int64_t>(raw) < 0 ? 0 : raw;
  }
}

Reading<Unit> PmuSession::State::read() {
  std::uint64_t elapsed = 0;
  // One failed group of several invalidates only this refresh: the next one includes what the others counted.
  Reading<Unit> result = Unit{};
  for (PmuGroup& group : groups) {
    const auto read = group.read();
    if (!read) {
      result = read.propagate<Unit>();
      continue;
    }
    switch (*read) {
      case PmuGroup::Outcome::counted:
        elapsed = group.elapsed();
        break;
      case PmuGroup::Outcome::did_not_run:
        result = failure(std::errc::device_or_resource_busy, "perf group of " + name + " is open but does not count");
        break;
      case PmuGroup::Outcome::dissolved:
        return lost();
    }
  }
  if (!result) return result;
  time = time.load() + Nanoseconds(static_cast<Nanoseconds::rep>(elapsed));
  take_values();
  return Unit{};
}

Reading<Unit> PmuSession::State::update() {
  const auto type = identify();
  if (!type) {
    if (type.is_absent()) close_groups();
    return type.propagate<Unit>();
  }
  if (has_new_events) close_groups();
  if (groups.empty()) {
    if (!described || has_new_events || described_type != *type) describe();
    // What failed to be read is tried again at the next opening.
    described = std::none_of(events.begin(), events.end(),
                             [](const Event& event) { return event.described.config.is_failure(); });
    has_new_events = false;
    described_type = *type;
    if (const auto opened = open(*type); !opened) return opened;
  }
  return read();
}

PmuSession::PmuSession(Machine& machine, CounterMemory& memory, std::string pmu, std::string memory_prefix)
    : state_(std::make_unique<State>(machine, memory, std::move(pmu), std::move(memory_prefix))) {}

PmuSession::~PmuSession() = default;

Reading<std::vector<std::string>> PmuSession::events() const { return state_->description.events(); }

PmuSession::Handle PmuSession::add_event(std::string_view event, std::span<const Term> terms) {
  const std::lock_guard lock(state_->mutex);
  State::Event added;
  added.name = event;
  std::string key = state_->memory_prefix + added.name;
  for (const Term& term : terms) {
    added.terms.emplace_back(term.name, term.value);
    key.append(",").append(term.name).append("=").append(std::to_string(term.value));
  }
  const auto known = std::find_if(state_->events.begin(), state_->events.end(), [&](const State::Event& e) {
    return e.name == added.name && e.terms == added.terms;
  });
  if (known != state_->events.end()) return static_cast<Handle>(known - state_->events.begin());
  added.total = &state_->memory.counter(key);
  state_->events.push_back(std::move(added));
  state_->has_new_events = true;
  return state_->events.size() - 1;
}

Reading<Unit> PmuSession::refresh(std::uint64_t pass) {
  const std::unique_lock lock(state_->mutex, std::try_to_lock);
  if (!lock) return hangs(state_->name);
  // A smaller number belongs to an abandoned scrape.
  if (state_->pass && pass <= *state_->pass) return state_->outcome;
  state_->pass = pass;
  state_->outcome = state_->update();
  return state_->outcome;
}

template <class T, class F>
Reading<T> PmuSession::State::value(Handle handle, F&& pick) {
  const std::unique_lock lock(mutex, std::try_to_lock);
  if (!lock) return hangs(name);
  if (!outcome) return outcome.propagate<T>();
  const Event& event = events[handle];
  if (!event.counts) return event.counts.propagate<T>();
  return pick(event);
}

Reading<std::uint64_t> PmuSession::count(Handle handle) const {
  return state_->value<std::uint64_t>(handle, [](const State::Event& event) { return event.total->total(); });
}
Reading<double> PmuSession::scaled(Handle handle, double usual_scale) const {
  return state_->value<double>(handle, [&](const State::Event& event) {
    return static_cast<double>(event.total->total()) * event.described.scale.value_or(usual_scale);
  });
}
Reading<std::uint64_t> PmuSession::raw(Handle handle) const {
  return state_->value<std::uint64_t>(handle, [](const State::Event& event) { return event.raw; });
}

Nanoseconds PmuSession::time() const { return state_->time; }
std::uint64_t PmuSession::generation() const { return state_->generation; }
bool PmuSession::is_open() const { return state_->is_open; }

void PmuSession::close() {
  const std::unique_lock lock(state_->mutex, std::try_to_lock);
  if (!lock) return;  // the destructor will
  state_->close_groups();
  state_->pass.reset();
}

}  // namespace igpu
