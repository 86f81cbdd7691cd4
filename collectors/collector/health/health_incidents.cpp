// SPDX-License-Identifier: Apache-2.0
#include "collector/health/health_incidents.h"

#include <algorithm>
#include <utility>

namespace igpu {
namespace {

// Those that another source has yet to report must fit: of the queue events of two scrapes, at most 2 * FAULT_PLACES.
constexpr std::size_t kMostRecent = 2048;
constexpr std::size_t kMostEngineResets = 4096;
constexpr std::size_t kCandidates = 16;  // of a line without a queue: the latest hangs

template <class T>
bool may_equal(const std::optional<T>& a, const std::optional<T>& b) {
  return !a || !b || a == b;
}

std::optional<HangKind> kind_of(const FaultLine& line) {
  switch (line.sign) {
    case FaultSign::job_timeout: return HangKind::job_timeout;
    case FaultSign::cat_error: return HangKind::cat_error;
    case FaultSign::page_fault: return HangKind::page_fault;
    case FaultSign::engine_reset_failed:
      // i915 resets the whole GPU then, and reports that hang in a line of its own.
      return line.driver == Driver::xe ? std::optional(HangKind::engine_reset) : std::nullopt;
    case FaultSign::gt_reset: return HangKind::gt_reset;
    case FaultSign::hang: return HangKind::hang;
    case FaultSign::fence_expired: return HangKind::fence_expired;
    case FaultSign::firmware: return HangKind::firmware;
    case FaultSign::engine_reset:
    case FaultSign::gt_reset_failed:
    case FaultSign::full_reset:
    case FaultSign::wedged: break;
  }
  return std::nullopt;
}

constexpr std::size_t bit(FaultSign sign) { return static_cast<std::size_t>(sign); }

// Firmware that does not answer is no hang of a job: a hang that follows counts for itself, unless it is of the queue
// for which it did not answer. It reports itself several times, and so do page faults: by the hundred if a kernel of a
// program runs wild.
bool may_follow(const FaultLine& line, const std::bitset<16>& signs, HangKind kind, bool is_same_queue) {
  if (line.sign == FaultSign::fence_expired || kind == HangKind::fence_expired) return false;
  if (line.sign == FaultSign::firmware) return true;
  if (line.sign == FaultSign::page_fault && signs.test(bit(FaultSign::page_fault))) return true;
  if (signs.test(bit(line.sign))) return false;
  return kind != HangKind::firmware || is_same_queue || line.sign == FaultSign::gt_reset ||
         line.sign == FaultSign::gt_reset_failed;
}

}  // namespace

void HangIncidents::begin_scrape(Nanoseconds now) {
  // now_ is still the time of the previous scrape: what was logged before it has been read.
  const auto is_over = [&](const auto& seen) { return now_ - seen.read_at > kWithinQueue; };
  if (std::erase_if(recent_, is_over) > 0) find_queues();
  std::erase_if(engine_resets_, [&](const auto& known) { return is_over(known.second); });
  now_ = now;
  ++scrape_;
}

void HangIncidents::forget() {
  recent_.clear();
  of_queue_.clear();
  engine_resets_.clear();
}

bool HangIncidents::fits(const Incident& incident, const FaultLine& line, Nanoseconds time, std::size_t source) const {
  const Report& own = incident.by[source];
  const bool is_same_queue = line.queue && line.queue == incident.queue;
  const Nanoseconds within = is_same_queue && line.sign == FaultSign::job_timeout ? kWithinQueue : kWithin;
  const bool is_near = own.last ? time - *own.last <= within : scrape_ - incident.scrape <= 1;
  return is_near && may_equal(incident.gt, line.gt) && may_equal(incident.queue, line.queue) &&
         may_follow(line, own.signs, incident.kind, is_same_queue);
}

// The one that this source reported last, or else the oldest one that only another source has reported: both report the
// hangs of a queue in the same order.
HangIncidents::Incident* HangIncidents::of_same_queue(const FaultLine& line, Nanoseconds time, std::size_t source) {
  const auto known = of_queue_.find(*line.queue);
  if (known == of_queue_.end()) return nullptr;
  Incident* unreported = nullptr;
  for (auto place = known->second.rbegin(); place != known->second.rend(); ++place) {
    Incident& incident = recent_[*place];
    if (!may_equal(incident.gt, line.gt)) continue;
    if (incident.by[source].last) {
      if (fits(incident, line, time, source)) return &incident;
      break;
    }
    if (fits(incident, line, time, source)) unreported = &incident;
  }
  return unreported;
}

HangIncidents::Incident* HangIncidents::incident_of(const FaultLine& line, Nanoseconds time, std::size_t source) {
  if (line.queue)
    if (Incident* const same = of_same_queue(line, time, source)) return same;
  std::size_t left = kCandidates;
  for (auto incident = recent_.rbegin(); incident != recent_.rend() && left > 0; ++incident, --left)
    if (!(line.queue && incident->queue) && fits(*incident, line, time, source)) return &*incident;
  return nullptr;
}

HangIncidents::Incident& HangIncidents::new_incident(HangKind kind, Nanoseconds age, std::size_t source) {
  if (recent_.size() == kMostRecent) forget_reported_by(source);
  Incident& incident = recent_.emplace_back();
  incident.kind = kind;
  incident.age = age;
  return incident;
}

// In a flood the ones stay that this source has yet to report.
void HangIncidents::forget_reported_by(std::size_t source) {
  const auto half = recent_.begin() + kMostRecent / 2;
  const auto kept = std::stable_partition(recent_.begin(), half,
                                          [&](const Incident& one) { return !one.by[source].last.has_value(); });
  const auto from = kept == half ? recent_.begin() : kept;
  for (auto gone = from; gone != half; ++gone) settle(*gone);
  recent_.erase(from, half);
  find_queues();
}

void HangIncidents::find_queues() {
  of_queue_.clear();
  for (std::size_t i = 0; i < recent_.size(); ++i)
    if (recent_[i].queue) of_queue_[*recent_[i].queue].push_back(i);
}

void HangIncidents::give_queue(Incident& incident, std::uint32_t queue) {
  incident.queue = queue;
  std::vector<std::size_t>& places = of_queue_[queue];
  const auto place = static_cast<std::size_t>(&incident - recent_.data());
  places.insert(std::ranges::upper_bound(places, place), place);
}

// What the reset of an engine said about the queue of this hang.
void HangIncidents::add_engine_reset(Incident& incident, std::size_t source, Nanoseconds time) {
  for_each_of(engine_resets_, {*incident.queue, incident.gt}, [&](const auto& known) {
    const EngineReset& reset = known->second;
    const bool is_near = reset.source == source ? time - reset.time <= kWithinQueue : scrape_ - reset.scrape <= 1;
    if (!is_near) return;
    if (!incident.engine_class) incident.engine_class = reset.engine_class;
    auto& process = incident.by[reset.source].process;
    if (!process) process = reset.process;
    engine_resets_.erase(known);
  });
}

HangIncidents::Added HangIncidents::add(const FaultLine& line, Nanoseconds time, FaultSource source_of_line,
                                        Nanoseconds age) {
  const auto source = static_cast<std::size_t>(source_of_line);
  const auto kind = kind_of(line);
  Incident* incident = line.sign == FaultSign::engine_reset && line.queue ? of_same_queue(line, time, source)
                                                                          : incident_of(line, time, source);
  if (incident == nullptr && !kind) {
    if (line.sign != FaultSign::engine_reset || !line.queue) return {};
    if (engine_resets_.size() == kMostEngineResets) engine_resets_.clear();
    engine_resets_.insert_or_assign(GtQueue{*line.queue, line.gt},
                                    EngineReset{source, time, now_, scrape_, line.engine_class, line.process});
    return {};
  }
  const bool begins = incident == nullptr;
  if (begins) incident = &new_incident(*kind, age, source);
  Report& own = incident->by[source];
  own.last = std::max(own.last.value_or(time), time);
  own.signs.set(bit(line.sign));
  if (!own.process) own.process = line.process;
  incident->scrape = scrape_;
  incident->read_at = now_;
  incident->is_changed = true;
  // The memory error is why the job timed out, which the other source may have reported first.
  if (!incident->is_counted && incident->kind == HangKind::job_timeout && kind == HangKind::cat_error && line.queue)
    incident->kind = HangKind::cat_error;
  if (!incident->gt) incident->gt = line.gt;
  if (!incident->queue && line.queue) give_queue(*incident, *line.queue);
  if (!incident->engine_class) incident->engine_class = line.engine_class;
  if (line.queue) add_engine_reset(*incident, source, time);
  return {begins, kind && incident->kind == HangKind::firmware ? *kind : incident->kind};
}

void HangIncidents::settle(Incident& incident) {
  if (!std::exchange(incident.is_changed, false)) return;
  // The queue events name who created the queue, the kernel log who opened the device.
  const Report& log = incident.by[static_cast<std::size_t>(FaultSource::kernel_log)];
  const Report& events = incident.by[static_cast<std::size_t>(FaultSource::queue_events)];
  Change change{incident.kind, incident.engine_class, std::nullopt, !incident.is_counted, std::nullopt, incident.age};
  if (incident.queue) change.queue = GtQueue{*incident.queue, incident.gt};
  if (!incident.process_is_told) change.process = events.process ? events.process : log.process;
  incident.is_counted = true;
  incident.process_is_told = incident.process_is_told || change.process;
  if (change.counted || change.process) settled_.push_back(std::move(change));
}

std::vector<HangIncidents::Change> HangIncidents::take_changes() {
  for (Incident& incident : recent_) settle(incident);
  return std::exchange(settled_, {});
}

}  // namespace igpu
