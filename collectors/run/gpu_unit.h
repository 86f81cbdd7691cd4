// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

#include "collector/collector.h"
#include "igpu/reading.h"
#include "igpu/units.h"
#include "kernel/sysfs/pci_files.h"
#include "run/registry.h"

namespace igpu {

// Decides at each scrape whether a GPU may be read.
//
// A suspended GPU is not read: most reads would resume it. A GPU that is awake but has been unused for a while is not
// read either: each read restarts its idle timer (i915: 10 s, xe: 1 s), so scrapes at shorter intervals would keep it
// awake forever. If something else keeps it awake, it is read again after that time.
class SleepGuard {
 public:
  struct Observation {
    Reading<bool> suspended;          // RuntimePm
    Reading<std::uint64_t> users;     // of the device's power, without this process. Absent: the kernel reports none
    Nanoseconds autosuspend_delay{};  // 0: the device has none
  };

  GpuPower judge(const Observation& seen, Nanoseconds now) {
    if (!seen.suspended.is_failure()) was_suspended_ = seen.suspended.value_or(false);
    const bool unused = seen.autosuspend_delay > Nanoseconds::zero() && seen.users && *seen.users == 0;
    if (was_suspended_ || !unused) {
      unused_since_.reset();
      stays_awake_ = false;
      if (was_suspended_) return GpuPower::suspended;
    } else if (!unused_since_) {
      unused_since_ = now;
    } else if (now - *unused_since_ >= kUnusedFor && !stays_awake_) {
      if (now - last_read_ < seen.autosuspend_delay + kMargin) return GpuPower::unused;
      stays_awake_ = true;
    }
    last_read_ = now;
    return GpuPower::awake;
  }

 private:
  // Not just between two frames, two files, or two commands at a terminal.
  static constexpr Nanoseconds kUnusedFor = std::chrono::seconds(10);
  // The kernel's timers are rounded up, and suspending takes time.
  static constexpr Nanoseconds kMargin = std::chrono::seconds(1);

  bool was_suspended_ = false;  // the last known status, used while the status cannot be read
  std::optional<Nanoseconds> unused_since_;
  bool stays_awake_ = false;  // it stayed awake although it was neither used nor read
  Nanoseconds last_read_{};
};

// Decides when a collector whose counters advance only when read must run again, so that no wraparound of the hardware
// is missed. A completed reading starts a new interval; a reading that failed or was late is repeated soon.
class ReadingSchedule {
 public:
  // longest: the longest interval, whatever the collector reports. The first reading is due at once.
  ReadingSchedule(Nanoseconds now, Nanoseconds longest) : longest_(longest), due_(now) {}

  // within: as Collector::read_within().
  void was_read(Nanoseconds now, Nanoseconds within) { due_ = now + std::min(within, longest_); }
  void was_missed(Nanoseconds now, Nanoseconds within) {
    constexpr int kRetries = 10;  // within the interval of one reading
    due_ = std::max(due_, now + std::min(within, longest_) / kRetries);
  }
  Nanoseconds due() const { return due_; }
  // True if a run for other collectors should include this one. A collector that is due every second does not cause a
  // reading of one that is due every few minutes.
  bool is_near(Nanoseconds now) const { return due_ - now <= longest_ / 2; }

 private:
  Nanoseconds longest_;
  Nanoseconds due_;
};

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

// Reads the power status of a GPU and decides whether it may be read. Any thread.
class PowerWatch {
 public:
  PowerWatch(const Directory& sys, std::string_view pci_path) : runtime_pm_(sys, pci_path) {}
  PowerReading read(Nanoseconds now) {
    const std::lock_guard lock(mutex_);  // if the reading of another thread hangs, so would this one
    SleepGuard::Observation seen{runtime_pm_.suspended(), Absent{}, {}};
    if (!seen.suspended.value_or(true)) seen.users = runtime_pm_.users();
    if (seen.users && *seen.users == 0) seen.autosuspend_delay = runtime_pm_.autosuspend_delay();
    const GpuPower power = sleep_guard_.judge(seen, now);
    return {power, std::move(seen.suspended)};
  }
  // Reads the status only; does not affect the decisions of read().
  PowerStatus power_status() {
    const std::lock_guard lock(mutex_);
    const Reading<bool> suspended = runtime_pm_.suspended();
    if (suspended.is_failure() || suspended.value_or(false)) return {true, Absent{}};
    return {false, runtime_pm_.users()};
  }

 private:
  std::mutex mutex_;
  RuntimePm runtime_pm_;
  SleepGuard sleep_guard_;
};

struct GpuUnit {
  Gpu gpu;
  std::shared_ptr<CounterMemory> pmu_memory;
  std::shared_ptr<PowerWatch> power;
  std::shared_ptr<PmuSession> pmu;
  std::list<Slot> slots;

  bool busy() const {
    return std::ranges::any_of(slots, [](const Slot& slot) { return slot.busy.load(); });
  }
};

// Gives other threads access to a unit without keeping it alive.
class UnitAccess final : public GpuAccess {
 public:
  // Constructed on the thread of the run, because a PmuSession belongs to that thread.
  explicit UnitAccess(const GpuUnit& unit)
      : power_(unit.power), pmu_(unit.pmu), pmu_closed_because_(why_closed(unit)) {}
  PowerStatus power_status() override {
    const std::shared_ptr<PowerWatch> watch = power_.lock();
    return watch ? watch->power_status() : PowerStatus{.suspended = true, .users = Absent{}};
  }
  bool pmu_is_open() const override {
    const std::shared_ptr<const PmuSession> pmu = pmu_.lock();
    return pmu && pmu->is_open();
  }
  Absent pmu_closed_because() const override { return pmu_closed_because_; }
  bool gone() const override { return pmu_.expired(); }

 private:
  static Absent why_closed(const GpuUnit& unit) {
    const std::optional<Reading<Unit>> outcome = unit.pmu->outcome();
    if (outcome) return outcome->is_absent() ? outcome->absent() : Absent{Reason::suspended};
    // No collector has tried to open the PMU.
    const auto events = unit.pmu->events();
    return events.is_absent() ? events.absent() : Absent{Reason::disabled};
  }

  const std::weak_ptr<PowerWatch> power_;
  const std::weak_ptr<const PmuSession> pmu_;
  const Absent pmu_closed_because_;
};

// Counters of the GPU at one PCI address. They outlive its GpuUnit, so that a rebound GPU continues its counts.
struct DeviceMemory {
  std::shared_ptr<CounterMemory> pmu = std::make_shared<CounterMemory>();
  std::map<std::string_view, std::shared_ptr<CounterMemory>> collectors;
};

}  // namespace igpu
