// SPDX-License-Identifier: Apache-2.0
#include "collector/engines/engines_xe_sleep.h"

namespace igpu {
namespace {

constexpr Nanoseconds kIdleBeforeClosing = std::chrono::seconds(60);
// Scans further apart than this are not regular monitoring: what happened in between does not call for an
// open PMU until the next one.
constexpr Nanoseconds kUnwatched = std::chrono::minutes(5);
// A GT is working if its C6 residency is lower than when idle by this fraction of the time.
constexpr double kMissingResidency = 0.03;
// Residency has a resolution of milliseconds and is updated in steps; over less time than this it is meaningless.
constexpr Nanoseconds kShortestResidency = std::chrono::milliseconds(500);
// While some clients are hidden, what was learned about an idle GT is checked again after this time.
constexpr Nanoseconds kBelieved = std::chrono::minutes(10);

}  // namespace

bool XeSleepWatch::unwatched(Nanoseconds now) const { return last_scan_ && now - *last_scan_ > kUnwatched; }

bool XeSleepWatch::residency_drops(Nanoseconds now, bool some_hidden) {
  const auto& residencies = idle_.read();
  gts_.resize(residencies.size());
  bool drops = false;
  for (std::size_t i = 0; i < residencies.size(); ++i) {
    Gt& gt = gts_[i];
    gt.sign.reset();
    const auto& reading = residencies[i].milliseconds;
    if (!reading) {
      gt.milliseconds.reset();
      continue;
    }
    const bool restarted = gt.milliseconds && *reading < *gt.milliseconds;
    if (!gt.milliseconds || restarted) {
      gt.milliseconds = *reading;
      gt.read_at = now;
      continue;
    }
    const Nanoseconds elapsed = now - gt.read_at;
    if (elapsed < kShortestResidency) continue;
    const double fraction = static_cast<double>(*reading - *gt.milliseconds) * 1e-3 / to_seconds(elapsed).value;
    gt.milliseconds = *reading;
    gt.read_at = now;
    if (some_hidden && gt.idle_fraction < 1 && now - gt.learned_at > kBelieved) gt.idle_fraction = 1;
    if (fraction < gt.idle_fraction - kMissingResidency) {
      gt.sign = fraction;
      drops = true;
    }
  }
  return drops;
}

bool XeSleepWatch::should_open(Nanoseconds now, bool clients_moved, bool some_hidden) {
  const bool nobody_watched = unwatched(now);
  last_scan_ = now;
  bool open = clients_moved;
  doubtful_ = false;
  if (!open) doubtful_ = open = residency_drops(now, some_hidden);
  return open && !nobody_watched;
}

void XeSleepWatch::opened(Nanoseconds now) {
  last_scan_ = last_activity_ = now;
  for (Gt& gt : gts_) gt.milliseconds.reset();  // an open PMU keeps the GT awake: its residency is meaningless now
}

bool XeSleepWatch::should_close(Nanoseconds now, bool active) {
  const bool nobody_watched = unwatched(now);
  last_scan_ = now;
  if (active) {
    last_activity_ = now;
    doubtful_ = false;
  }
  if (nobody_watched) {
    doubtful_ = false;  // too few scans to learn from
    return true;
  }
  return now - last_activity_ >= kIdleBeforeClosing;
}

void XeSleepWatch::closed(Nanoseconds now) {
  last_scan_ = now;
  for (Gt& gt : gts_) {
    gt.milliseconds.reset();
    if (doubtful_ && gt.sign) {
      gt.idle_fraction = *gt.sign;
      gt.learned_at = now;
    }
    gt.sign.reset();
  }
  doubtful_ = false;
}

void XeSleepWatch::restart() {
  last_scan_.reset();
  doubtful_ = false;
  for (Gt& gt : gts_) {
    gt.milliseconds.reset();
    gt.sign.reset();
  }
}

}  // namespace igpu
