// SPDX-License-Identifier: Apache-2.0
#include "trace/job_pairing.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "igpu/device.h"

namespace igpu {
namespace {

constexpr std::uint64_t kShortestHold = 16'000;  // ns; the first bucket of the histograms
constexpr std::size_t kEngines = 4096;           // engines and queues whose last end is kept
constexpr std::size_t kEarly = 1024;             // jobs with dependencies that are not submitted yet
constexpr std::size_t kDependencies = 16;        // of one job
constexpr std::uint64_t kForgetEngineAfter = 10'000'000'000;

std::uint64_t mixed(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

// "rcs7" -> 7
std::uint32_t number_at_end(std::string_view ring) {
  const std::size_t digits = ring.find_last_not_of("0123456789") + 1;
  std::uint32_t number = 0;
  std::from_chars(ring.data() + digits, ring.data() + ring.size(), number);
  return number;
}

// names: of all values of the enumeration, in its order. Text without an owner: string literals only.
template <class Enum, std::size_t kCount>
std::string_view name_in(const std::array<std::string_view, kCount>& names, Enum value) {
  return names[std::min(static_cast<std::size_t>(value), kCount - 1)];
}

}  // namespace

std::uint64_t hash_of(std::string_view text, std::uint64_t seed) {
  std::uint64_t hash = mixed(seed + 0x9e3779b97f4a7c15);
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return mixed(hash);
}

std::string_view to_string(JobSource source) {
  return name_in(std::to_array<std::string_view>({"drm_sched", "i915", "amdgpu", "virtio_gpu"}), source);
}

std::string_view to_string(JobOutcome outcome) {
  return name_in(
      std::to_array<std::string_view>({"completed", "bound", "long_running", "error", "evicted", "unfinished"}),
      outcome);
}

std::string_view to_string(JobHold hold) {
  return name_in(
      std::to_array<std::string_view>({"nothing", "dependency", "same_context", "other_context", "scheduler"}), hold);
}

std::string_view to_string(JobClass engine_class) {
  // The classes before it are those of EngineClass.
  static_assert(static_cast<std::size_t>(JobClass::other) == kEngineClasses);
  return engine_class == JobClass::other ? "other" : to_string(static_cast<EngineClass>(engine_class));
}

std::size_t JobKeyHash::operator()(const JobKey& key) const { return mixed(key.context * 31 + mixed(key.seqno)); }

JobPairing::JobPairing(Sink sink, std::size_t in_flight)
    : sink_(std::move(sink)), limit_(std::max<std::size_t>(in_flight, 1)) {}

void JobPairing::add(const JobEvent& event) {
  switch (event.kind) {
    case JobEventKind::submitted: return submit(event);
    case JobEventKind::dependency: return depend(event);
    case JobEventKind::handed_over: return hand_over(event);
    case JobEventKind::preempted:
      if (Flight* const flight = find(event.key)) flight->job.preempted = true;
      return;
    case JobEventKind::ended:
    case JobEventKind::retired: return end(event);
    case JobEventKind::error: return fail(event);
  }
}

JobPairing::Flight* JobPairing::find(const JobKey& key) {
  const auto found = by_key_.find(key);
  return found == by_key_.end() ? nullptr : &*found->second;
}

void JobPairing::submit(const JobEvent& event) {
  if (const auto old = by_key_.find(event.key); old != by_key_.end()) {
    ++counts_.replaced;
    give_up(old->second, JobOutcome::evicted);
  } else if (flights_.size() >= limit_) {
    ++counts_.evicted;
    give_up(flights_.begin(), JobOutcome::evicted);
  }
  ++counts_.submitted;
  Flight& flight = flights_.emplace_back();
  Job& job = flight.job;
  job.source = event.source;
  job.engine_class = event.engine_class;
  job.instance = event.instance;
  job.key = event.key;
  job.context = event.context;
  job.client = event.client;
  job.pid = event.pid;
  job.tid = event.tid;
  job.comm = event.comm;
  job.device = event.device;
  job.ring = event.ring;
  job.submit_ns = event.time_ns;
  flight.engine = event.engine != 0 ? event.engine : event.context;
  flight.number = event.number;
  flight.ring_hash = hash_of(job.ring.view(), hash_of(job.device.view()));
  flight.queue_number = number_at_end(job.ring.view());
  const auto place = std::prev(flights_.end());
  by_key_[event.key] = place;
  if (flight.number != 0) by_number_[{flight.ring_hash, flight.number}] = place;
  if (const auto early = early_.find(event.key); early != early_.end()) {
    for (const JobKey& dependency : early->second) add_dependency(flight, dependency);
    early_.erase(early);
  }
}

// Before Linux 6.16 the event names the waiting job by ring and number, and the ring, in some versions, only by the
// address of its name.
JobPairing::Flight* JobPairing::waiting_job(const JobEvent& event) {
  if (event.key != JobKey{}) return find(event.key);
  std::uint64_t ring = 0;
  if (!event.ring.empty()) {
    ring = hash_of(event.ring.view(), hash_of(event.device.view()));
  } else if (const auto known = ring_at_.find(event.ring_address); known != ring_at_.end()) {
    ring = known->second;
  }
  if (ring != 0) {
    const auto found = by_number_.find({ring, event.number});
    return found == by_number_.end() ? nullptr : &*found->second;
  }
  // Which ring has its name there: known as soon as one job alone can be meant.
  Flight* only = nullptr;
  for (Flight& flight : flights_) {
    if (flight.number != event.number || flight.job.handed_over_ns != 0) continue;
    if (only != nullptr) return nullptr;
    only = &flight;
  }
  if (only != nullptr) {
    if (ring_at_.size() >= kEngines) ring_at_.clear();
    ring_at_[event.ring_address] = only->ring_hash;
  }
  return only;
}

void JobPairing::depend(const JobEvent& event) {
  if (Flight* const flight = waiting_job(event)) return add_dependency(*flight, event.other);
  if (event.key == JobKey{}) {
    ++counts_.unmatched;
    return;
  }
  // A driver may add dependencies before it pushes the job.
  if (early_.size() >= kEarly && !early_.contains(event.key)) {
    for (const auto& [key, dependencies] : early_) counts_.unmatched += dependencies.size();
    early_.clear();
  }
  std::vector<JobKey>& dependencies = early_[event.key];
  if (dependencies.size() < kDependencies)
    dependencies.push_back(event.other);
  else
    ++counts_.unmatched;
}

void JobPairing::add_dependency(Flight& flight, const JobKey& on) {
  if (std::ranges::find(flight.dependencies, on) != flight.dependencies.end()) return;
  if (flight.dependencies.size() >= kDependencies) return;
  flight.dependencies.push_back(on);
  if (by_key_.contains(on)) waiting_.emplace(on, flight.job.key);
}

void JobPairing::hand_over(const JobEvent& event) {
  Flight* const flight = find(event.key);
  if (flight == nullptr) {
    ++counts_.unmatched;
    return;
  }
  // A preempted job is handed over again; its start stays the first one.
  if (flight->job.handed_over_ns != 0) return;
  flight->job.handed_over_ns = event.time_ns;
  flight->handed_over_tid = event.tid;
  // What was waited for has ended by now, whether or not it was a job of ours.
  if (!flight->dependencies.empty() && flight->job.dependency_ns == 0 && event.time_ns > flight->job.submit_ns) {
    flight->job.dependency_ns = event.time_ns - flight->job.submit_ns;
    flight->job.held_by = flight->dependencies.back();
  }
}

void JobPairing::end(const JobEvent& event) {
  const auto found = by_key_.find(event.key);
  if (found == by_key_.end()) {
    // dma_fence reports the fences of everyone, and every request is retired once more after its end.
    const bool others_too = event.source == JobSource::i915 || event.source == JobSource::amdgpu;
    if (!others_too) ++counts_.unmatched;
    return;
  }
  complete(found->second, event);
}

void JobPairing::complete(Flights::iterator place, const JobEvent& event) {
  Flight& flight = *place;
  Job& job = flight.job;
  ++counts_.ended;
  const bool exact = event.in_interrupt && event.kind == JobEventKind::ended;
  if (interrupted_.size() >= kEngines && !interrupted_.contains(job.context)) interrupted_.clear();
  bool& interrupted = interrupted_[job.context];
  interrupted = interrupted || event.in_interrupt;
  const bool long_running = !event.in_interrupt && !interrupted && !flight.failed && job.handed_over_ns != 0 &&
                            job.source == JobSource::drm_sched && event.tid == flight.handed_over_tid;
  start(flight);
  job.end_ns = std::max(event.time_ns, job.start_ns);
  if (long_running) {
    job.outcome = JobOutcome::long_running;
    job.end_ns = 0;
  } else if (flight.failed || job.error != 0) {
    job.outcome = JobOutcome::error;
  } else {
    job.outcome = exact ? JobOutcome::completed : JobOutcome::bound;
  }
  if (!long_running && (exact || job.source != JobSource::i915)) {
    if (engines_.size() >= kEngines && !engines_.contains(flight.engine)) {
      std::erase_if(engines_,
                    [&](const auto& entry) { return entry.second.last_end + kForgetEngineAfter < event.time_ns; });
      if (engines_.size() >= kEngines) engines_.clear();
    }
    engines_[flight.engine] = {job.end_ns, job.context, job.key};
  }
  end_dependencies(job);
  hold(flight);
  sink_(job);
  remove(place);
}

void JobPairing::start(Flight& flight) {
  Job& job = flight.job;
  job.start_ns = job.handed_over_ns != 0 ? job.handed_over_ns : job.submit_ns;
  const auto engine = engines_.find(flight.engine);
  if (engine == engines_.end() || engine->second.last_end <= job.start_ns) return;
  job.start_ns = engine->second.last_end;
  flight.before = engine->second;
}

void JobPairing::hold(Flight& flight) {
  Job& job = flight.job;
  if (job.queue_ns() <= kShortestHold) {
    job.held_by = {};
    return;
  }
  const std::uint64_t ready = job.handed_over_ns != 0 ? job.handed_over_ns : job.submit_ns;
  const std::uint64_t on_engine = job.start_ns - ready;
  const std::uint64_t in_queue = ready > job.submit_ns ? ready - job.submit_ns : 0;
  const std::uint64_t dependency = std::min(job.dependency_ns, in_queue);
  const std::uint64_t scheduler = in_queue - dependency;
  if (dependency >= on_engine && dependency >= scheduler) {
    job.hold = JobHold::dependency;
  } else if (on_engine >= scheduler) {
    job.hold = flight.before.context == job.context ? JobHold::same_context : JobHold::other_context;
    job.held_by = flight.before.key;
  } else {
    job.hold = JobHold::scheduler;
    job.held_by = {};
  }
}

void JobPairing::end_dependencies(const Job& job) {
  const auto [first, last] = waiting_.equal_range(job.key);
  for (auto waiter = first; waiter != last; ++waiter) {
    Flight* const flight = find(waiter->second);
    if (flight == nullptr || flight->job.handed_over_ns != 0) continue;
    const std::uint64_t end = job.end_ns != 0 ? job.end_ns : job.start_ns;
    if (end <= flight->job.submit_ns || end - flight->job.submit_ns <= flight->job.dependency_ns) continue;
    flight->job.dependency_ns = end - flight->job.submit_ns;
    flight->job.held_by = job.key;
  }
  waiting_.erase(first, last);
}

void JobPairing::fail(const JobEvent& event) {
  Flight* failed = nullptr;
  if (event.key != JobKey{}) {
    failed = find(event.key);
  } else {
    for (Flight& flight : flights_) {
      const Job& job = flight.job;
      const bool same_device = job.device.empty() || event.device.empty() || job.device == event.device;
      const bool same_class = event.engine_class == JobClass::other || job.engine_class == event.engine_class;
      if (flight.queue_number != event.queue_number || !same_device || !same_class || job.handed_over_ns == 0) continue;
      failed = &flight;
      break;
    }
  }
  if (failed == nullptr) {
    ++counts_.unmatched;
    return;
  }
  failed->failed = true;
  if (event.error != 0) failed->job.error = event.error;
}

void JobPairing::give_up(Flights::iterator flight, JobOutcome outcome) {
  flight->job.outcome = outcome;
  if (flight->job.handed_over_ns != 0) start(*flight);
  sink_(flight->job);
  remove(flight);
}

void JobPairing::remove(Flights::iterator flight) {
  for (const JobKey& dependency : flight->dependencies) {
    const auto [first, last] = waiting_.equal_range(dependency);
    for (auto waiter = first; waiter != last;)
      waiter = waiter->second == flight->job.key ? waiting_.erase(waiter) : std::next(waiter);
  }
  if (flight->number != 0) {
    const auto numbered = by_number_.find({flight->ring_hash, flight->number});
    if (numbered != by_number_.end() && numbered->second == flight) by_number_.erase(numbered);
  }
  by_key_.erase(flight->job.key);
  flights_.erase(flight);
}

void JobPairing::finish() {
  while (!flights_.empty()) give_up(flights_.begin(), JobOutcome::unfinished);
  waiting_.clear();
  for (const auto& [key, dependencies] : early_) counts_.unmatched += dependencies.size();
  early_.clear();
}

}  // namespace igpu
