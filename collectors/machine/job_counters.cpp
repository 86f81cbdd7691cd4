// SPDX-License-Identifier: Apache-2.0
#include "machine/job_counters.h"

#include <cerrno>
#include <chrono>

namespace igpu {
namespace {

constexpr Nanoseconds kTryAgain = std::chrono::minutes(1);
constexpr Nanoseconds kNeverAgain = Nanoseconds::max();  // as the time of the last attempt

}  // namespace

Reading<const JobCounters*> JobCountersOnDemand::get(JobDriver driver, Nanoseconds now) {
  Slot& slot = slots_[static_cast<std::size_t>(driver)];
  const bool not_loaded =
      slot.outcome && slot.outcome->is_absent() && slot.outcome->absent() == Absent{Reason::kernel, ENOENT};
  if (!slot.outcome || (not_loaded && now - slot.tried >= kTryAgain)) {
    slot.tried = now;
    Reading<std::unique_ptr<JobCounters>> outcome = open_(driver, by_process_);
    // What the sandbox denies later is no reason to forget that the driver was not loaded at the start. It stays
    // denied, and an attempt reads all types of the kernel.
    if (slot.outcome && outcome.is_absent() && outcome.absent().reason == Reason::permission)
      slot.tried = kNeverAgain;
    else if (!slot.outcome || outcome)
      slot.outcome.emplace(std::move(outcome));
  }
  if (!*slot.outcome) return slot.outcome->propagate<const JobCounters*>();
  return static_cast<const JobCounters*>((*slot.outcome)->get());
}

}  // namespace igpu
