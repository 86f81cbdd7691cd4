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
// the session of a GPU (engines, frequency, rc6), so all of them announce their events before the first read. Sources:
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
  // over reopening and over re-binding of the device; it must outlive the session. Its keys are the events, so that the
  // counts of a GPU go on when its PMU comes back under another name. memory_prefix: what several PMUs that share a
  // memory put before their keys.
  PmuSession(Machine& machine, CounterMemory& memory, std::string pmu, std::string memory_prefix = {});
  ~PmuSession();
  PmuSession(const PmuSession&) = delete;
  PmuSession& operator=(const PmuSession&) = delete;

  // Names in events/, without .unit and .scale; sorted. Absent if the kernel has no such PMU.
  Reading<std::vector<std::string>> events() const;

  // Announces an event; best before the first refresh() (later the whole group is reopened at the next one). Unknown
  // names are accepted: they stay absent. The same event announced twice is one.
  Handle want(std::string_view event, std::span<const Term> terms = {});

  // The event is no longer wanted; the group is reopened without it. want() may announce it again.
  void drop(Handle handle);

  // Opens what was announced if it is not open (events that the kernel rejects are dropped one by one, the others
  // count; EACCES and EPERM end the attempt), then reads the group once. Call with the same pass number again and the
  // values of that pass stay as they are. The outcome is that of the PMU as a whole: a value if at least one event
  // counts. A group that the kernel could not run all the time (counters shared with others) is extrapolated; one that
  // did not run at all since the last read is a Failure. A call while another one hangs is a Failure.
  Reading<Unit> refresh(std::uint64_t pass);
  // Of the last refresh(), also after close(); nullopt: there was none.
  std::optional<Reading<Unit>> outcome() const;
  // As refresh(), but while the group is open it does not check that the PMU is still the same, which costs a second
  // system call. For a thread that reads many times a second and calls refresh() now and then.
  Reading<Unit> reread(std::uint64_t pass);

  // After refresh(): the count since the first opening in this process' life, never going backwards. Absent with the
  // kernel's reason if it rejected this event; the outcome of the last refresh() if that failed. After close(): the
  // last value.
  Reading<std::uint64_t> count(Handle handle) const;
  // The same multiplied by the event's .scale: joules for power, MiB for uncore. usual_scale: where it has none.
  Reading<double> scaled(Handle handle, double usual_scale) const;
  // As count(), but restarts from the kernel's value at each (re)open and may step back: for deltas and ratios.
  Reading<std::uint64_t> raw(Handle handle) const;
  // What count() and raw() say, for a thread that wants many values: they are locked once. nullopt: no value. While it
  // has them, the thread calls nothing of the session but time(), generation() and is_open().
  class Values {
   public:
    std::optional<std::uint64_t> count(Handle handle) const;
    std::optional<std::uint64_t> raw(Handle handle) const;

   private:
    bool has(Handle handle) const;

    friend class PmuSession;
    explicit Values(State& state);
    std::unique_lock<std::mutex> lock_;
    const State* state_;  // null: none has a value
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
