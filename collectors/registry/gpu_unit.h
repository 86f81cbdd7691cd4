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

// An instance of a collector, for one GPU or for the machine.
struct Slot {
  const ConfiguredCollector* configured = nullptr;
  const CollectorInfo* info = nullptr;
  std::shared_ptr<CounterMemory> memory;
  // Only one of the two is used; null until its constructor has succeeded.
  std::unique_ptr<Collector> collector;
  std::unique_ptr<MachineCollector> machine_collector;
  std::atomic<bool> busy{false};  // a thread runs it, perhaps for longer than any caller waits
  std::atomic<Nanoseconds> read_within{Nanoseconds::max()};
  std::optional<ReadingSchedule> reading;  // of counters that advance only when read; used by the thread of the run
};

struct PowerReading {
  GpuPower power = GpuPower::awake;
  Reading<bool> suspended = Absent{};
};

// Reads the power status of a GPU and decides whether collectors may read it.
class PowerWatch {
 public:
  PowerWatch(const Directory& sys, std::string_view pci_path) : runtime_pm_(sys, pci_path) {}
  PowerReading read(Nanoseconds now) {
    SleepGuard::Observation seen{runtime_pm_.suspended(), Absent{}, {}};
    if (!seen.suspended.value_or(true)) seen.users = runtime_pm_.users();
    if (seen.users && *seen.users == 0) seen.autosuspend_delay = runtime_pm_.autosuspend_delay();
    const GpuPower power = sleep_guard_.judge(seen, now);
    return {power, std::move(seen.suspended)};
  }

 private:
  RuntimePm runtime_pm_;
  SleepGuard sleep_guard_;
};

struct GpuUnit {
  Gpu gpu;
  std::shared_ptr<CounterMemory> pmu_memory;
  std::unique_ptr<PowerWatch> power;
  std::unique_ptr<PmuSession> pmu;
  std::list<Slot> slots;

  bool busy() const {
    return std::any_of(slots.begin(), slots.end(), [](const Slot& slot) { return slot.busy.load(); });
  }
};

// Counters of the GPU at one PCI address. They outlive its GpuUnit, so that a rebound GPU continues its counts.
struct DeviceMemory {
  std::shared_ptr<CounterMemory> pmu = std::make_shared<CounterMemory>();
  std::map<std::string_view, std::shared_ptr<CounterMemory>> collectors;
};

}  // namespace igpu
