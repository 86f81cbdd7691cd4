// SPDX-License-Identifier: Apache-2.0
#include "collector/health_incidents.h"

#include <algorithm>

namespace igpu {
namespace {

constexpr std::size_t kMostRecent = 64;

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

HangIncidents::Incident& HangIncidents::incident_of(const FaultLine& line, Nanoseconds time) {
  const auto fits = [&](const Incident& incident) {
    return time - incident.last <= kWithin && (incident.gt.empty() || line.gt.empty() || incident.gt == line.gt) &&
           (!incident.queue || !line.queue || incident.queue == line.queue) &&
           may_follow(line, incident.signs, incident.kind);
  };
  // The same queue first, then the latest.
  const auto same_queue = std::find_if(recent_.rbegin(), recent_.rend(), [&](const Incident& incident) {
    return line.queue && incident.queue == line.queue && fits(incident);
  });
  if (same_queue != recent_.rend()) return *same_queue;
  const auto latest = std::find_if(recent_.rbegin(), recent_.rend(), fits);
  if (latest != recent_.rend()) return *latest;
  if (recent_.size() == kMostRecent) recent_.erase(recent_.begin());
  return recent_.emplace_back();
}

HangIncidents::Outcome HangIncidents::add(const FaultLine& line, Nanoseconds time) {
  std::erase_if(recent_, [&](const Incident& incident) { return time - incident.last > kWithin; });
  Incident& incident = incident_of(line, time);
  incident.last = std::max(incident.last, time);
  incident.signs.set(bit(line.sign));
  if (incident.gt.empty()) incident.gt = line.gt;
  if (!incident.queue) incident.queue = line.queue;
  if (!incident.engine_class) incident.engine_class = line.engine_class;
  Outcome outcome;
  if (const auto kind = kind_of(line); kind && !incident.kind) {
    incident.kind = kind;
    outcome.counted = true;
  }
  outcome.kind = incident.kind;
  outcome.engine_class = incident.engine_class;
  if (line.process && !incident.has_process) {
    incident.has_process = true;
    outcome.process = line.process;
  }
  return outcome;
}

}  // namespace igpu
