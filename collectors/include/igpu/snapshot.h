// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "igpu/device.h"
#include "igpu/export.h"
#include "igpu/reading.h"
#include "igpu/units.h"

// One reading of one GPU. The values come from the collectors behind /metrics; METRICS.md names each metric, and
// docs/library.md lists which field is which metric and which kernel interface it comes from.
//
// Units are base units (seconds, bytes, hertz, watts, celsius); ratios are 0..1. Ratios, means and watts cover the
// window: the time since the latest earlier read() that is at least GpuOptions::min_window old.
//
// What the machine does not report is a Reading without a value: Absent with its reason, or Failure if it should have
// worked. It is never 0. Snapshot::feature() has the cause and the hint in words. A list that has a value is not empty,
// except `processes`.
namespace igpu {

// The rows of a Snapshot.
namespace snapshot {

enum class EngineSource {
  pmu,     // the engine's own counter
  fdinfo,  // time of the visible processes, by class; without access to the PMU, or while an xe GPU is left to sleep
};

// Source: i915 and xe perf PMU; fdinfo of DRM clients. A class may have rows of both sources, because their times add
// up, while only one of them measures: the PMU of an xe GPU is closed as long as the GPU may sleep. `busy` of the rows
// that did not measure in this window is Absent{suspended}; EngineClassLoad has the value of the others.
struct Engine {
  std::string name;  // "rcs0", "vcs1"; from fdinfo the class's name
  EngineClass engine_class = EngineClass::render;
  std::optional<unsigned> gt;  // nullopt from fdinfo
  EngineSource source = EngineSource::pmu;
  Reading<Ratio> busy = Absent{};
  Reading<Ratio> wait = Absent{};  // waiting for an event; i915 only
  Reading<Ratio> sema = Absent{};  // waiting for a semaphore; i915 only
  Reading<Seconds> busy_time = Absent{};
};

// The engines of one class together: the mean over them, so 1 is all of the class.
struct EngineClassLoad {
  EngineClass engine_class = EngineClass::render;
  unsigned engines = 0;  // rows of Snapshot::engines behind it
  Reading<Ratio> busy = Absent{};
  Reading<Ratio> wait = Absent{};
  Reading<Ratio> sema = Absent{};
};

// Source: sysfs; the means from the i915 PMU.
struct Frequency {
  unsigned gt = 0;
  Reading<Hertz> actual = Absent{};     // now; 0 while the GT is parked
  Reading<Hertz> requested = Absent{};  // now
  Reading<Hertz> mean_actual = Absent{};
  Reading<Hertz> mean_requested = Absent{};
  Reading<Hertz> min = Absent{}, max = Absent{}, boost = Absent{};  // settings
  // Bounds of the hardware: highest, nominal, lowest, most efficient, achievable now.
  Reading<Hertz> rp0 = Absent{}, rp1 = Absent{}, rpn = Absent{}, rpe = Absent{}, rpa = Absent{};
};

// Source: sysfs throttle reasons.
struct Throttling {
  unsigned gt = 0;
  bool limited = false;              // by any reason
  std::vector<std::string> reasons;  // those that limit now: "pl1", "thermal", ...
  std::vector<std::string> known;    // those that this GT can report
};

// Power-saving state RC6 (xe: C6). Source: PMU or sysfs.
struct Residency {
  unsigned gt = 0;
  Reading<Ratio> ratio = Absent{};
  Reading<Seconds> time = Absent{};
};

// Source: RAPL (perf or powercap) for an integrated GPU, hwmon for a card.
struct Power {
  std::string domain;              // gpu, package, cores, dram, psys; of a card: card, package
  std::string source;              // rapl_pmu, powercap, hwmon
  Reading<Watts> mean = Absent{};  // over the window
  Reading<Joules> energy = Absent{};
};
struct PowerLimit {
  std::string domain, limit;  // limit: max (sustained), cap (short-term), rated_max, crit
  Watts value;
};

// Source: hwmon.
struct Temperature {
  std::string sensor;  // package, vram, ...
  Celsius value;
};
struct Fan {
  std::string name;
  Rpm speed;
};
struct Voltage {
  std::string domain;
  Volts value;
};

// Source: the driver's memory query on the render node.
struct MemoryRegion {
  std::string name;  // system, local0, vram0, ...
  Reading<Bytes> size = Absent{};
  Reading<Bytes> used = Absent{};
};

// Of the whole processor, integrated GPUs only. Source: uncore IMC PMU.
struct Bandwidth {
  std::string direction;  // read, write
  Reading<BytesPerSecond> rate = Absent{};
  Bytes total;
};

// The slot's link, not the card's internal one. Source: sysfs.
struct PcieLink {
  Reading<TransfersPerSecond> speed = Absent{}, max_speed = Absent{};
  Reading<Lanes> width = Absent{}, max_width = Absent{};
};

struct ProcessMemory {
  std::string region;  // as fdinfo names it: system0, local0, vram0, gtt, ...
  std::string state;   // total, shared, active, resident, purgeable
  Bytes value;
};

// A process that uses the GPU. Source: DRM fdinfo below /proc.
struct Process {
  std::uint32_t pid = 0;
  std::string comm;
  // By EngineClass: share of the class's capacity. Absent{hardware}: this process has no time of that class.
  std::array<Reading<Ratio>, kEngineClasses> busy{Absent{}, Absent{}, Absent{}, Absent{}, Absent{}};
  std::array<Reading<Seconds>, kEngineClasses> busy_time{Absent{}, Absent{}, Absent{}, Absent{}, Absent{}};
  std::vector<ProcessMemory> memory;  // of the GPU
  Reading<Count> clients = Absent{};
  Reading<Seconds> cpu_time = Absent{};
  Reading<Bytes> resident_memory = Absent{}, virtual_memory = Absent{};  // main memory
  std::string user, cgroup, container_id, pod_uid, systemd_unit;         // "" where unknown

  const Reading<Ratio>& busy_of(EngineClass engine_class) const { return busy[static_cast<std::size_t>(engine_class)]; }
};

}  // namespace snapshot

// Whether the machine offers what a feature covers; the lines of `intel-gpu-exporter doctor`.
struct FeatureState {
  std::string name;  // "engine_busy"; METRICS.md lists them
  bool available = true;
  Absent absent;      // meaningful unless available
  std::string cause;  // one line: what was denied, by what; "" if available
  std::string hint;   // the exact command or setting; "" if there is none
};

struct Snapshot {
  std::chrono::system_clock::time_point time;  // when the reading began
  Nanoseconds monotonic{};                     // the same by CLOCK_MONOTONIC
  Gpu gpu;

  Reading<bool> suspended = Absent{};  // runtime-suspended: everything else is Absent{suspended}, and it is not woken
  Reading<bool> hang_captured = Absent{};                                     // the kernel holds a captured GPU hang
  Reading<std::vector<snapshot::Engine>> engines = Absent{};                  // by GT and name
  Reading<std::vector<snapshot::EngineClassLoad>> engine_classes = Absent{};  // by EngineClass
  Reading<Count> interrupts = Absent{};
  Reading<std::vector<snapshot::Frequency>> frequencies = Absent{};  // by GT
  Reading<std::vector<snapshot::Throttling>> throttling = Absent{};  // by GT
  Reading<std::vector<snapshot::Residency>> rc6 = Absent{};          // by GT
  Reading<std::vector<snapshot::Power>> power = Absent{};
  Reading<std::vector<snapshot::PowerLimit>> power_limits = Absent{};
  Reading<std::vector<snapshot::Temperature>> temperatures = Absent{};
  Reading<std::vector<snapshot::Fan>> fans = Absent{};
  Reading<std::vector<snapshot::Voltage>> voltages = Absent{};
  Reading<std::vector<snapshot::MemoryRegion>> memory = Absent{};
  Reading<std::vector<snapshot::Bandwidth>> memory_bandwidth = Absent{};
  Reading<snapshot::PcieLink> pcie = Absent{};
  Reading<std::vector<snapshot::Process>> processes = Absent{};  // the visible ones, by PID; may be empty
  Reading<Unit> other_users = Absent{};  // has a value if processes of other users are among them

  std::shared_ptr<const std::vector<FeatureState>> features;  // shared by snapshots while nothing changes

  // Null: no feature of this name, or it has not been determined yet.
  IGPU_API const FeatureState* feature(std::string_view name) const;

  // Shortcuts. A missing row is Absent{hardware}.
  IGPU_API Reading<Ratio> busy(EngineClass engine_class) const;
  IGPU_API Reading<Hertz> frequency(unsigned gt = 0) const;  // actual
  IGPU_API Reading<Watts> power_of(std::string_view domain) const;
  IGPU_API Reading<Celsius> temperature(std::string_view sensor) const;
};

}  // namespace igpu
