// SPDX-License-Identifier: Apache-2.0
#include "kernel/pmu/pmu_session.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>

#include "base/held_counter.h"
#include "base/scan.h"
#include "kernel/pmu/pmu_files.h"

namespace igpu {
namespace {

constexpr std::string_view kPmus = "bus/event_source/devices/";
// Suffixes of the files that describe an event, in addition to its own file.
constexpr std::array<std::string_view, 4> kSiblings{".scale", ".unit", ".per-pkg", ".snapshot"};
constexpr std::size_t kHeaderWords = 3;  // nr, time_enabled, time_running

// A step back of at most this much is an estimate that is being corrected (GuC busyness of i915, in-progress ticks of
// xe): a second in either unit. Anything else only steps back when it was reset.
std::uint64_t largest_correction(std::string_view event, std::string_view unit) {
  if (unit == "ns") return 1'000'000'000;
  if (event.ends_with("-ticks")) return 19'200'000;
  return 0;
}

// The PMU of a GPU counts for the whole machine; opened on two CPUs it would count twice.
bool counts_for_whole_machine(std::string_view pmu) { return pmu.starts_with("i915") || pmu.starts_with("xe_"); }

Failure trouble(std::errc code, std::string where) { return {std::make_error_code(code), std::move(where)}; }
Failure hangs(const std::string& pmu) {
  return trouble(kWaitsForAnother, "an earlier read of the perf group of " + pmu + " has not come back");
}

}  // namespace

struct PmuSession::State {
  struct Event {
    std::string name;
    std::vector<std::pair<std::string, std::uint64_t>> terms;

    // From the description of the PMU.
    Reading<std::uint64_t> config = Absent{Reason::kernel, ENOENT};
    std::optional<double> scale;

    std::uint64_t held = 0;

    Reading<Unit> counts = Absent{Reason::kernel, 0};  // of the open group
    bool wanted = true;
  };
  // What every read touches of an event: one cache line each, and all of them next to each other.
  struct Count {
    HeldCounter counter;
    std::uint64_t sum = 0;   // over all CPUs, being added up
    std::uint64_t base = 0;  // where raw starts
    std::uint64_t held = 0;  // Event::held
    MonotonicCounter* total = nullptr;
    bool counts = false;  // Event::counts has a value

    std::uint64_t raw() const {
      const std::uint64_t count = sum - base;
      return static_cast<std::int64_t>(count) < 0 ? 0 : count;
    }
  };
  struct Member {
    std::size_t event = 0;
    std::uint64_t last = 0;   // as read
    std::uint64_t count = 0;  // extrapolated
  };
  // All events on one CPU. The leader goes first, and last when closing.
  struct Group {
    std::vector<std::unique_ptr<PerfEvent>> files;
    std::vector<Member> members;
    std::uint64_t enabled = 0;
    std::uint64_t running = 0;

    Group() = default;
    Group(Group&&) = default;
    Group& operator=(Group&&) = default;
    ~Group() {
      while (!files.empty()) files.pop_back();
    }
  };

  State(Machine& the_machine, CounterMemory& the_memory, std::string pmu, std::string prefix)
      : machine(the_machine),
        memory(the_memory),
        name(std::move(pmu)),
        directory(std::string(kPmus) + name),
        memory_prefix(std::move(prefix)) {}

  Reading<Unit> update() {
    const auto type = read_type();
    if (!type) {
      if (type.is_absent()) close_groups();
      return type.propagate<Unit>();
    }
    if (announced) close_groups();
    if (groups.empty()) {
      if (!described || announced || described_type != *type) describe();
      // What failed to be read is tried again at the next opening.
      described = std::ranges::none_of(events, [](const Event& event) { return event.config.is_failure(); });
      announced = false;
      described_type = *type;
      if (const auto opened = open(*type); !opened) return opened;
    }
    return read();
  }

  Reading<std::uint32_t> read_type() {
    std::array<char, 32> buffer;
    if (type_file) {
      const auto text = type_file->read(buffer);
      if (text.is_failure()) return text.propagate<std::uint32_t>();
      const auto number = text ? scan_integer<std::uint32_t>(*text) : std::nullopt;
      if (number && *number == described_type) return *number;
      // The PMU is gone, or another one replaced it.
      close_groups();
      type_file.reset();
      described = false;
    }
    auto file = machine.sys.open(directory + "/type");
    if (!file) return file.propagate<std::uint32_t>();
    const auto text = (*file)->read(buffer);
    if (!text) return text.propagate<std::uint32_t>();
    const auto number = scan_integer<std::uint32_t>(*text);
    if (!number) return Absent{Reason::kernel, ENODEV};
    type_file = std::move(*file);
    return *number;
  }

  void describe() {
    const std::vector<PmuField> formats = fields();
    for (Event& event : events) {
      event.config = config_of(event, formats);
      const std::string path = directory + "/events/" + event.name;
      std::array<char, 128> buffer;
      const auto scale = machine.sys.read(path + ".scale", buffer);
      event.scale = scale ? scan_double(*scale) : std::nullopt;
      if (event.scale && *event.scale <= 0) event.scale.reset();  // it would turn a counter into 0, or below it
      const auto unit = machine.sys.read(path + ".unit", buffer);
      event.held = largest_correction(event.name, unit ? trim(*unit) : std::string_view());
    }
  }

  std::vector<PmuField> fields() const {
    std::vector<PmuField> found;
    const std::string folder = directory + "/format";
    for (const std::string& field : sorted_names(machine.sys, folder)) {
      std::array<char, 128> buffer;
      const auto text = machine.sys.read(folder + "/" + field, buffer);
      if (!text) continue;
      if (auto parsed = parse_pmu_field(field, *text)) found.push_back(std::move(*parsed));
    }
    return found;
  }

  Reading<std::uint64_t> config_of(const Event& event, const std::vector<PmuField>& formats) const {
    std::array<char, 512> buffer;
    const auto text = machine.sys.read(directory + "/events/" + event.name, buffer);
    if (!text) return text.propagate<std::uint64_t>();
    auto config = parse_pmu_event(*text, formats);
    if (!config) return kNotDescribed;
    for (const auto& [term, value] : event.terms)
      // A driver without the field has only one of what it numbers: number 0.
      if (value != 0 && !place_pmu_term(term, value, formats, *config)) return kNotDescribed;
    // No GPU, RAPL or memory PMU has an event that needs another word.
    if (std::any_of(config->begin() + 1, config->end(), [](std::uint64_t word) { return word != 0; }))
      return kNotDescribed;
    return config->front();
  }

  std::vector<int> cpus() const {
    std::array<char, 4096> buffer;
    const auto text = machine.sys.read(directory + "/cpumask", buffer);
    std::vector<int> found = text ? parse_cpu_list(*text) : std::vector<int>();
    if (found.empty()) found.push_back(0);
    if (counts_for_whole_machine(name)) found.resize(1);
    return found;
  }

  Reading<Unit> open(std::uint32_t type) {
    for (Event& event : events) event.counts = Absent{Reason::kernel, 0};
    std::size_t most = 0;
    for (const int cpu : cpus()) {
      Group group;
      if (const auto opened = open_group(type, cpu, group); !opened) {
        close_groups();
        for (Event& event : events) event.counts = opened;
        return opened;
      }
      most = std::max(most, group.members.size());
      if (!group.files.empty()) groups.push_back(std::move(group));
    }
    if (groups.empty()) {
      if (events.empty()) return Absent{Reason::kernel, ENOENT};
      return events.front().counts;
    }
    words.assign(kHeaderWords + most + 1, 0);  // one more, to detect an answer that is too long
    for (std::size_t i = 0; i < events.size(); ++i)
      counts[i] = {HeldCounter::from_zero(), 0, 0, events[i].held, counts[i].total, bool(events[i].counts)};
    is_open = true;
    ++generation;
    return Unit{};
  }

  Reading<Unit> open_group(std::uint32_t type, int cpu, Group& group) {
    for (std::size_t i = 0; i < events.size(); ++i) {
      Event& event = events[i];
      if (!event.wanted) continue;
      if (!event.config) {
        event.counts = event.config.propagate<Unit>();
        continue;
      }
      PerfEvent* leader = group.files.empty() ? nullptr : group.files.front().get();
      auto file = machine.perf.open({type, *event.config}, cpu, leader);
      if (file) {
        group.files.push_back(std::move(*file));
        group.members.push_back({i});
        event.counts = Unit{};
      } else if (file.is_failure() || file.absent().reason == Reason::permission) {
        return file.propagate<Unit>();
      } else if (!event.counts) {  // else it counts on another CPU
        event.counts = file.absent();
      }
    }
    return Unit{};
  }

  Reading<Unit> read() {
    std::uint64_t elapsed = 0;
    // One failed group of several invalidates only this refresh: the next one includes what the others counted.
    Reading<Unit> result = Unit{};
    for (Group& group : groups) {
      const auto outcome_of_group = read_group(group, elapsed);
      if (outcome_of_group) continue;
      result = outcome_of_group;
      if (groups.empty()) return result;  // close_dissolved() was called
    }
    if (!result) return result;
    time = time.load() + Nanoseconds(static_cast<Nanoseconds::rep>(elapsed));
    take_values();
    return Unit{};
  }

  Reading<Unit> read_group(Group& group, std::uint64_t& elapsed) {
    const auto answer = group.files.front()->read(words);
    if (answer.is_failure()) return answer.propagate<Unit>();
    if (!answer || answer->size() != kHeaderWords + group.members.size() || answer->front() != group.members.size())
      return close_dissolved();
    const std::span<const std::uint64_t> read = *answer;
    const std::uint64_t enabled = read[1] - group.enabled;
    const std::uint64_t running = read[2] - group.running;
    group.enabled = read[1];
    group.running = read[2];
    const bool stood_still = running == 0 && enabled != 0;
    const bool shared = running < enabled;
    for (std::size_t i = 0; i < group.members.size(); ++i) {
      Member& member = group.members[i];
      const std::uint64_t value = read[kHeaderWords + i];
      std::uint64_t gained = value - member.last;
      member.last = value;
      if (shared && !stood_still && static_cast<std::int64_t>(gained) > 0)
        gained = static_cast<std::uint64_t>(static_cast<double>(gained) * static_cast<double>(enabled) /
                                            static_cast<double>(running));
      member.count += gained;
    }
    if (stood_still)
      return trouble(std::errc::device_or_resource_busy, "perf group of " + name + " is open but does not count");
    elapsed = enabled;
    return Unit{};
  }

  void take_values() {
    for (Count& count : counts) count.sum = 0;
    for (const Group& group : groups)
      for (const Member& member : group.members) counts[member.event].sum += member.count;
    for (Count& count : counts) {
      if (!count.counts) continue;
      const HeldCounter::Step step = count.counter.advance(count.sum, count.held);
      if (step.gained != 0) count.total->add(step.gained);
      if (step.restarted) count.base = count.sum;
    }
  }

  void close_groups() {
    groups.clear();
    is_open = false;
  }
  // Called when a read shows that the kernel has dissolved a group, because its device is gone. Closes all groups.
  Reading<Unit> close_dissolved() {
    close_groups();
    if (const auto type = read_type(); !type) return type.propagate<Unit>();
    return trouble(std::errc::no_such_device, "perf group of " + name + " was dissolved");
  }

  template <class T, class F>
  Reading<T> value(Handle handle, F&& pick) {
    const std::unique_lock lock(mutex, std::try_to_lock);
    if (!lock) return hangs(name);
    if (!outcome) return outcome.propagate<T>();
    if (const Event& event = events[handle]; !event.counts) return event.counts.propagate<T>();
    return pick(counts[handle]);
  }

  Machine& machine;
  CounterMemory& memory;
  const std::string name;
  const std::string directory;
  const std::string memory_prefix;

  // Held by the one thread that reads; a thread that hangs in a read must not block the others.
  std::mutex mutex;
  std::vector<Event> events;
  std::vector<Count> counts;  // of each event
  std::unique_ptr<File> type_file;
  std::uint32_t described_type = 0;
  bool described = false;
  bool announced = false;  // events that are not in the open group
  std::vector<Group> groups;
  std::vector<std::uint64_t> words;
  std::atomic<Nanoseconds> time{};
  std::atomic<std::uint64_t> generation{0};
  std::atomic<bool> is_open{false};
  std::optional<std::uint64_t> pass;
  Reading<Unit> outcome = Absent{Reason::kernel, 0};
  bool refreshed = false;
};

PmuSession::PmuSession(Machine& machine, CounterMemory& memory, std::string pmu, std::string memory_prefix)
    : state_(std::make_unique<State>(machine, memory, std::move(pmu), std::move(memory_prefix))) {}

PmuSession::~PmuSession() = default;

Reading<std::vector<std::string>> PmuSession::events() const {
  const Directory& sys = state_->machine.sys;
  std::vector<std::string> names;
  const auto listed = sys.for_each(state_->directory + "/events", [&](std::string_view entry) {
    if (std::ranges::none_of(kSiblings, [&](std::string_view end) { return entry.ends_with(end); }))
      names.emplace_back(entry);
    return true;
  });
  if (!listed) {
    if (listed.is_failure()) return listed.failure();
    // A PMU need not name any events.
    if (const auto facts = sys.stat(state_->directory + "/type"); !facts) return listed.absent();
  }
  std::ranges::sort(names);
  return names;
}

PmuSession::Handle PmuSession::want(std::string_view event, std::span<const Term> terms) {
  const std::lock_guard lock(state_->mutex);
  State::Event wanted;
  wanted.name = event;
  std::string key = state_->memory_prefix + wanted.name;
  for (const Term& term : terms) {
    wanted.terms.emplace_back(term.name, term.value);
    key.append(",").append(term.name).append("=").append(std::to_string(term.value));
  }
  const auto known = std::ranges::find_if(
      state_->events, [&](const State::Event& e) { return e.name == wanted.name && e.terms == wanted.terms; });
  if (known != state_->events.end()) {
    state_->announced = state_->announced || !known->wanted;
    known->wanted = true;
    return static_cast<Handle>(known - state_->events.begin());
  }
  state_->events.push_back(std::move(wanted));
  state_->counts.emplace_back().total = &state_->memory.counter(key);
  state_->announced = true;
  return state_->events.size() - 1;
}

void PmuSession::drop(Handle handle) {
  const std::lock_guard lock(state_->mutex);
  State::Event& event = state_->events[handle];
  if (!event.wanted) return;
  event.wanted = false;
  state_->announced = true;
}

Reading<Unit> PmuSession::refresh(std::uint64_t pass) {
  const std::unique_lock lock(state_->mutex, std::try_to_lock);
  if (!lock) return hangs(state_->name);
  // A smaller number belongs to an abandoned scrape.
  if (state_->pass && pass <= *state_->pass) return state_->outcome;
  state_->pass = pass;
  state_->outcome = state_->update();
  state_->refreshed = true;
  return state_->outcome;
}

std::optional<Reading<Unit>> PmuSession::outcome() const {
  const std::unique_lock lock(state_->mutex, std::try_to_lock);
  if (!lock) return hangs(state_->name);
  return state_->refreshed ? std::optional(state_->outcome) : std::nullopt;
}

Reading<Unit> PmuSession::reread(std::uint64_t pass) {
  {
    const std::unique_lock lock(state_->mutex, std::try_to_lock);
    if (!lock) return hangs(state_->name);
    if (state_->pass && pass <= *state_->pass) return state_->outcome;
    if (state_->is_open && !state_->announced) {
      state_->pass = pass;
      state_->outcome = state_->read();
      return state_->outcome;
    }
  }
  return refresh(pass);
}

Reading<std::uint64_t> PmuSession::count(Handle handle) const {
  return state_->value<std::uint64_t>(handle, [](const State::Count& count) { return count.total->total(); });
}
Reading<double> PmuSession::scaled(Handle handle, double usual_scale) const {
  return state_->value<double>(handle, [&](const State::Count& count) {
    return static_cast<double>(count.total->total()) * state_->events[handle].scale.value_or(usual_scale);
  });
}
Reading<std::uint64_t> PmuSession::raw(Handle handle) const {
  return state_->value<std::uint64_t>(handle, [](const State::Count& count) { return count.raw(); });
}
PmuSession::Values::Values(State& state)
    : lock_(state.mutex, std::try_to_lock), state_(lock_ && state.outcome ? &state : nullptr) {}
PmuSession::Values PmuSession::values() const { return Values(*state_); }
bool PmuSession::Values::has(Handle handle) const { return state_ != nullptr && state_->counts[handle].counts; }
std::optional<std::uint64_t> PmuSession::Values::count(Handle handle) const {
  return has(handle) ? std::optional(state_->counts[handle].total->total()) : std::nullopt;
}
std::optional<std::uint64_t> PmuSession::Values::raw(Handle handle) const {
  return has(handle) ? std::optional(state_->counts[handle].raw()) : std::nullopt;
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

std::string gpu_pmu_name(const Directory& sys, std::string_view driver, std::string_view address, bool integrated) {
  std::string suffix(address);
  std::ranges::replace(suffix, ':', '_');
  const std::string own = std::string(driver) + "_" + suffix;
  if (driver != "i915") return own;
  const auto exists = [&](std::string_view pmu) { return bool(sys.stat(std::string(kPmus) + std::string(pmu))); };
  constexpr std::string_view kPlain = "i915";
  // Drivers up to 6.12 give the plain name to any GPU at 0000:00:02.0, later ones to integrated GPUs at any address.
  // Before 5.10 all GPUs had it.
  if (exists(own)) return own;
  if (integrated || address == "0000:00:02.0") return std::string(kPlain);
  if (!exists(kPlain)) return own;
  // A card that is being removed no longer has its own PMU or an entry among the driver's devices.
  std::vector<std::string> devices = sorted_names(sys, "bus/pci/drivers/i915");
  std::erase_if(devices, [](const std::string& entry) { return entry.find(':') == std::string::npos; });
  return devices.size() == 1 && devices.front() == address ? std::string(kPlain) : own;
}

}  // namespace igpu
