// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/monotonic_counter.h"
#include "igpu/reading.h"
#include "igpu/units.h"
#include "machine/machine.h"

// One perf PMU as one group: all wanted events are opened together and read by one read(2). Several collectors share
// the session of a GPU (engines, frequency, rc6), so each announces its events before the first read. Sources:
// kernel/events/core.c, drivers/gpu/drm/i915/i915_pmu.c, arch/x86/events/rapl.c, .../uncore_snb.c.
namespace igpu {

class PmuSession {
 private:
  struct State;

 public:
  using Handle = std::size_t;

  struct Term {  // "gt" = 1; a field that the PMU's format/ directory defines
    std::string_view name;
    std::uint64_t value;
  };

  // pmu: name below bus/event_source/devices ("i915", "xe_0000_03_00.0", "power"). memory keeps the counts monotonic
  // when the PMU is reopened or the device rebound; it must outlive the session. Its keys are the events, so that the
  // counts of a GPU continue if its PMU reappears under another name. memory_prefix: precedes the keys, for PMUs that
  // share a memory.
  PmuSession(Machine& machine, CounterMemory& memory, std::string pmu, std::string memory_prefix = {});
  ~PmuSession();
  PmuSession(const PmuSession&) = delete;
  PmuSession& operator=(const PmuSession&) = delete;

  // Names in events/, without .unit and .scale; sorted. Absent if the kernel has no such PMU.
  Reading<std::vector<std::string>> events() const;

  // Announces an event, preferably before the first refresh(): a later announcement makes the next refresh() reopen the
  // whole group. The count of an event that does not exist is Absent. Announcing an event twice returns the same
  // handle.
  Handle want(std::string_view event, std::span<const Term> terms = {});

  // Withdraws an event; the group is reopened without it. want() may announce it again.
  void drop(Handle handle);

  // Opens the announced events if they are not open (events that the kernel rejects are dropped one by one, the others
  // count; EACCES and EPERM end the attempt), then reads the group once. A second call with the same pass number does
  // not read again. Returns the outcome of the PMU as a whole: a value if at least one event counts. If the kernel
  // could not run the group all the time (counters shared with others), the counts are extrapolated. Failure: the group
  // did not run at all since the last read, or another call hangs.
  Reading<Unit> refresh(std::uint64_t pass);
  // The outcome of the last refresh(), also after close(); nullopt: there was none.
  std::optional<Reading<Unit>> outcome() const;
  // As refresh(), but while the group is open it does not check that the PMU is still the same, which costs a second
  // system call. For a thread that reads many times a second and calls refresh() from time to time.
  Reading<Unit> reread(std::uint64_t pass);

  // After refresh(): the count since this process first opened the event. It never decreases. Absent with the kernel's
  // reason if it rejected this event; the outcome of the last refresh() if that failed. After close(): the last value.
  Reading<std::uint64_t> count(Handle handle) const;
  // count() multiplied by the event's .scale: joules for power, MiB for uncore. usual_scale: for an event without
  // .scale.
  Reading<double> scaled(Handle handle, double usual_scale) const;
  // As count(), but restarts from the kernel's value at each (re)open and may step back: for deltas and ratios.
  Reading<std::uint64_t> raw(Handle handle) const;
  // count() and raw() for many values under one lock. nullopt: no value. While a thread holds Values, it may call only
  // time(), generation() and is_open() of the session.
  class Values {
   public:
    std::optional<std::uint64_t> count(Handle handle) const;
    std::optional<std::uint64_t> raw(Handle handle) const;

   private:
    bool has(Handle handle) const;

    friend class PmuSession;
    explicit Values(State& state);
    std::unique_lock<std::mutex> lock_;
    const State* state_;  // null: no event has a value
  };
  Values values() const;
  // When the values of the last refresh() were taken, in the kernel's own time (time_enabled, kept monotonic over
  // reopening; stands still while nothing counts). Deltas of counts over deltas of this are exact.
  Nanoseconds time() const;
  // How often the group was opened. A window over raw() restarts when it changes.
  std::uint64_t generation() const;

  bool is_open() const;
  void close();  // closes all descriptors; totals are kept, refresh() opens again

 private:
  std::unique_ptr<State> state_;
};

// "i915", "i915_0000_03_00.0" or "xe_0000_00_02.0" for a GPU, as it exists in the tree: integrated i915 parts are
// `i915`, and so are kernels that do not name PMUs by device.
std::string gpu_pmu_name(const Directory& sys, std::string_view driver, std::string_view address, bool integrated);

}  // namespace igpu
