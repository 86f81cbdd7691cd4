// SPDX-License-Identifier: Apache-2.0
#include "collector/health_incidents.h"

#include <algorithm>

namespace igpu {
namespace {

constexpr std::size_t kMostRecent = 512;  // more than the queue events of one scrape, at most FAULT_PLACES

template <class T>
bool may_equal(const std::optional<T>& a, const std::optional<T>& b) {
  return !a || !b || a == b;
}

std::optional<HangKind> kind_of(const FaultLine& line) {
  switch (line.sign) {
    case FaultSign::job_timeout:
      return HangKind::job_timeout;
    case FaultSign::cat_error:
      return HangKind::cat_error;
    case FaultSign::page_fault:
      return HangKind::page_fault;
    case FaultSign::engine_reset_failed:
      // i915 resets the whole GPU then, and reports that hang in a line of its own.
      return line.driver == Driver::xe ? std::optional(HangKind::engine_reset) : std::nullopt;
    case FaultSign::gt_reset:
      return HangKind::gt_reset;
    case FaultSign::hang:
      return HangKind::hang;
    case FaultSign::fence_expired:
      return HangKind::fence_expired;
    case FaultSign::firmware:
      return HangKind::firmware;
    case FaultSign::engine_reset:
    case FaultSign::gt_reset_failed:
    case FaultSign::full_reset:
    case FaultSign::wedged:
      break;
  }
  return std::nullopt;
}

constexpr std::size_t bit(FaultSign sign) { return static_cast<std::size_t>(sign); }

// Firmware that does not answer is no hang of a job: a hang that follows counts for itself. It reports itself several
// times.
bool may_follow(const FaultLine& line, const std::bitset<16>& signs, std::optional<HangKind> kind) {
  if (line.sign == FaultSign::fence_expired || kind == HangKind::fence_expired) return false;
  if (line.sign == FaultSign::firmware) return true;
  if (signs.test(bit(line.sign))) return false;
  return kind != HangKind::firmware || line.sign == FaultSign::gt_reset || line.sign == FaultSign::gt_reset_failed;
}

}  // namespace

// No line of this source can belong to it any more.
bool HangIncidents::is_over(const Incident& incident, Nanoseconds time, std::size_t source) const {
  const auto& last = incident.by[source].last;
  return last && time - *last > kWithin && scrape_ - incident.scrape > 1;
}

HangIncidents::Incident& HangIncidents::incident_of(const FaultLine& line, Nanoseconds time, std::size_t source) {
  const auto fits = [&](const Incident& incident) {
    const Report& own = incident.by[source];
    const bool is_near = own.last ? time - *own.last <= kWithin
                                  : line.queue && line.queue == incident.queue && scrape_ - incident.scrape <= 1;
    return is_near && may_equal(incident.gt, line.gt) && may_equal(incident.queue, line.queue) &&
           may_follow(line, own.signs, incident.kind);
  };
  // The same queue first, then the latest.
  const auto same_queue = std::find_if(recent_.rbegin(), recent_.rend(), [&](const Incident& incident) {
    return line.queue && incident.queue == line.queue && fits(incident);
  });
  if (same_queue != recent_.rend()) return *same_queue;
  const auto latest = std::find_if(recent_.rbegin(), recent_.rend(), fits);
  if (latest != recent_.rend()) return *latest;
  if (recent_.size() == kMostRecent) {
    // In a flood the ones stay that this source has yet to report.
    const auto had = [&](const Incident& incident) { return incident.by[source].last.has_value(); };
    const auto oldest = std::ranges::find_if(recent_, had);
    recent_.erase(oldest == recent_.end() ? recent_.begin() : oldest);
  }
  return recent_.emplace_back();
}

HangIncidents::Outcome HangIncidents::add(const FaultLine& line, Nanoseconds time, FaultSource source_of_line) {
  const auto source = static_cast<std::size_t>(source_of_line);
  std::erase_if(recent_, [&](const Incident& incident) { return is_over(incident, time, source); });
  Incident& incident = incident_of(line, time, source);
  Report& own = incident.by[source];
  own.last = std::max(own.last.value_or(time), time);
  own.signs.set(bit(line.sign));
  incident.scrape = scrape_;
  if (!incident.gt) incident.gt = line.gt;
  if (!incident.queue) incident.queue = line.queue;
  if (!incident.engine_class) incident.engine_class = line.engine_class;
  Outcome outcome;
  if (const auto kind = kind_of(line); kind && !incident.kind) {
    incident.kind = kind;
    outcome.counted = true;
  }
  outcome.kind = incident.kind;
  outcome.engine_class = incident.engine_class;
  // Also one that came with a line without a kind.
  if (!incident.process) incident.process = line.process;
  if (incident.kind && incident.process && !incident.process_is_told) {
    incident.process_is_told = true;
    outcome.process = incident.process;
  }
  return outcome;
}

}  // namespace igpu
