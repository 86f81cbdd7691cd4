// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "collector/collector.h"
#include "registry/configuration.h"
#include "registry/reading_schedule.h"
#include "registry/sleep_guard.h"
#include "source/runtime_pm.h"

namespace igpu {

// A collector of one GPU or of the machine.
struct Slot {
  const ConfiguredCollector* configured = nullptr;
  const CollectorInfo* info = nullptr;
  std::shared_ptr<CounterMemory> memory;
  // nullptr: it could not be made so far, or is one of the other kind.
  std::unique_ptr<Collector> collector;
  std::unique_ptr<MachineCollector> machine_collector;
  std::atomic<bool> busy{false};  // on some thread, perhaps for longer than any caller waits
  std::atomic<Nanoseconds> read_within{Nanoseconds::max()};
  std::optional<ReadingSchedule> reading;  // of one that accumulates on read; used by the thread that owns the run
};

struct GpuUnit {
  Gpu gpu;
  std::shared_ptr<CounterMemory> pmu_memory;
  std::unique_ptr<RuntimePm> runtime_pm;
  SleepGuard sleep_guard;
  std::unique_ptr<PmuSession> pmu;
  std::list<Slot> slots;

  struct PowerReading {
    GpuPower power = GpuPower::awake;
    Reading<bool> suspended = Absent{};
  };
  PowerReading read_power(Nanoseconds now) {
    SleepGuard::Observation seen{runtime_pm->suspended(), Absent{}, {}};
    if (!seen.suspended.value_or(true)) seen.users = runtime_pm->users();
    if (seen.users && *seen.users == 0) seen.autosuspend_delay = runtime_pm->autosuspend_delay();
    const GpuPower power = sleep_guard.judge(seen, now);
    return {power, std::move(seen.suspended)};
  }

  bool busy() const {
    return std::any_of(slots.begin(), slots.end(), [](const Slot& slot) { return slot.busy.load(); });
  }
};

// Counters of a PCI address; outlive the units, so that a GPU that is rebound continues its counts.
struct DeviceMemory {
  std::shared_ptr<CounterMemory> pmu = std::make_shared<CounterMemory>();
  std::map<std::string_view, std::shared_ptr<CounterMemory>> collectors;
};

}  // namespace igpu
