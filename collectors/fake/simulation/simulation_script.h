// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fake/simulation/course.h"
#include "igpu/device.h"
#include "kernel/device/engine_class.h"

// What a simulated machine does, independent of how its kernel exposes it. The renderers turn the script into sysfs,
// procfs, perf counts and ioctl results; a test computes the expected values of /metrics directly from the same script.
//
// Times count from the boot of the machine.
namespace igpu::simulation {

// ---- hardware ----

struct EngineModel {
  EngineClass engine_class;
  unsigned instance;
  unsigned gt;
};

struct GtModel {
  unsigned rpn, rp1, rp0;  // MHz: lowest, efficient, highest
  bool media = false;      // this is the media GT
};

struct GpuModel {
  std::string_view name;  // as in the PCI id list
  Driver driver;
  GpuKind kind;
  std::uint16_t device_id;
  std::uint8_t revision;
  std::uint16_t subsystem_vendor, subsystem_device;
  std::vector<EngineModel> engines;
  std::vector<GtModel> gts;
  std::uint64_t vram_bytes;                       // 0: none
  double idle_watts;                              // whole GPU, awake and idle, in addition to its parked power
  std::array<double, kEngineClasses> busy_watts;  // added by one fully busy engine of the class
  double power_limit_watts;                       // PL1; 0: not exposed
  // Discrete: bus width of the card and of the slot, GT/s of both
  unsigned card_lanes = 0, slot_lanes = 0;
  double link_gigatransfers = 0;
};

// ---- activity ----

struct EngineScript {
  EngineModel model;
  std::string name;   // "vcs1", the driver's name
  Course busy;        // ns per second: clients and kernel
  Course own;         // ns per second: the kernel's part, in no client's count
  Course wait, sema;  // ns per second, i915
  // Of a physical function: the part of `busy` that each virtual function caused, by its number - 1.
  std::vector<Course> of_functions;
};

// A virtual function of a GPU. All functions have the same time slice.
struct FunctionScript {
  unsigned number;           // from 1
  std::string driver;        // "" if none is bound
  std::uint32_t holder = 0;  // the process that has its VFIO file; 0: none
  std::uint64_t vram_quota = 0;
  unsigned seconds_between_resets = 0;  // of its engines, by the firmware; 0: never
  std::uint64_t resets(ScriptTime t) const {
    return seconds_between_resets == 0 ? 0 : static_cast<std::uint64_t>(to_seconds(t).value) / seconds_between_resets;
  }
};

struct GtScript {
  GtModel model;
  Course actual_khz, requested_khz;              // while awake
  Course actual_awake_khz, requested_awake_khz;  // 0 while the GT is parked: what the i915 PMU integrates
  Course awake;                                  // ns per second
  Course asleep;                                 // the rest of each second: RC6 or C6
  Course pl1_throttled;                          // 1 while power limit 1 throttles the clock

  // So little load that a single read usually finds the GT in RC6.
  bool parked(ScriptTime t) const { return awake.value(t) < 20'000'000; }
  std::uint64_t actual_mhz(ScriptTime t) const { return parked(t) ? 0 : actual_khz.value(t) / 1000; }
};

struct GpuScript {
  GpuModel model;
  std::string address;               // "0000:03:00.0"
  std::vector<std::string> bridges;  // PCI addresses above it, outermost first
  unsigned card = 0;
  unsigned render_minor = 128;
  unsigned hwmon = 0;
  int numa_node = -1;
  bool suspended = false;

  unsigned total_functions = 0;  // virtual functions that can be enabled; 0: no SR-IOV
  std::vector<FunctionScript> functions;

  std::vector<EngineScript> engines;
  std::vector<GtScript> gts;
  Course interrupts;          // per second
  Course package_microwatts;  // the GPU itself (integrated: the RAPL zone "uncore")
  Course card_microwatts;     // discrete: with memory, regulators and fans
  Course vram_used;           // bytes
  Course temperature;         // millidegrees

  std::string pci_path() const;  // below /sys
  // Address and path of a virtual function; it is a sibling of the GPU's own function.
  std::string address_of(const FunctionScript& function) const;
  std::string path_of(const FunctionScript& function) const;
  // IOMMU group, by which VFIO names its file.
  unsigned group_of(const FunctionScript& function) const { return 16 + 64 * card + function.number; }
  std::string card_name() const { return "card" + std::to_string(card); }
  std::string render_name() const { return "renderD" + std::to_string(render_minor); }
  std::string pmu_name() const;
  const EngineScript* engine(std::string_view name) const;
};

struct MemoryUse {
  std::uint64_t total, shared, active, resident, purgeable;  // bytes
};

struct ClientScript {
  std::uint64_t first_id;  // drm-client-id
  std::size_t gpu;         // index into MachineScript::gpus
  std::uint32_t pid;       // the process that opened it; no other holder has a lower one
  Lifetime open;
  std::vector<std::uint32_t> descriptors;                          // numbers in that process; more than one: dup'd
  std::vector<std::pair<std::uint32_t, std::uint32_t>> passed_on;  // (pid, descriptor) in other processes
  bool on_card_node = false;
  std::vector<std::pair<std::size_t, Course>> engines;  // (index into GpuScript::engines, ns per second)
  Course local_bytes;                                   // resident in VRAM
  Course system_bytes;                                  // resident in system memory

  std::uint64_t id(ScriptTime t) const;
  std::uint64_t engine_nanoseconds(const GpuScript& gpu, EngineClass engine_class, ScriptTime t) const;
  MemoryUse local_memory(ScriptTime t) const;
  MemoryUse system_memory(ScriptTime t) const;
};

// A control group, and what a reader must derive from its path.
struct PlaceScript {
  std::string cgroup;  // path in the unified hierarchy
  std::string container_id{}, pod_uid{}, systemd_unit{};
  std::string name_space{}, pod{}, container{};  // names, from files of the host
};

struct ProcessScript {
  std::uint32_t pid, parent;
  std::string comm;
  std::uint32_t uid;
  PlaceScript place;
  bool restarts_container = false;  // each instance has a new container
  Lifetime life;
  Course cpu;                        // ns per second
  Course read_bytes, written_bytes;  // from and to the disk, per second
  Course resident_bytes;
  std::uint64_t virtual_bytes = 0;
  bool kernel_thread = false;

  std::string cgroup(ScriptTime t) const;
  std::string container_id(ScriptTime t) const;
};

struct UserScript {
  std::uint32_t uid;
  std::string name;
};

struct HostScript {
  Course cores_microwatts, package_microwatts, psys_microwatts;  // package includes cores and an integrated GPU
  Course temperature;                                            // millidegrees, CPU package
  Course memory_read, memory_written;                            // 64-byte lines per second, both memory controllers
  std::vector<Course> busy;                                      // ns per second, by processor
  std::chrono::seconds booted{1'764'000'000};                    // since 1970
  unsigned cores = 8;
  bool has_psys = true;
  bool has_bmc_display = false;  // another vendor's display adapter is card0
  int perf_event_paranoid = 2;
};

// A hang that recurs at a fixed interval.
struct HangScript {
  std::size_t gpu = 0;
  EngineClass engine_class{};
  std::uint32_t pid = 0;  // of the process that causes it
  ScriptTime first{};     // since the boot
  ScriptTime every{};

  ScriptTime time(std::uint64_t index) const { return first + every * static_cast<ScriptTime::rep>(index); }
  // Number of hangs until then.
  std::uint64_t count(ScriptTime until) const {
    return until < first ? 0 : static_cast<std::uint64_t>((until - first) / every) + 1;
  }
};

// A process that runs video jobs at a constant rate, apart from a stall once a minute.
struct ChannelScript {
  std::uint32_t pid;
  std::size_t gpu;    // index into MachineScript::gpus
  Course video_jobs;  // per second
};

// An NPU bound to intel_vpu, with the files of Linux 6.16 to 7.1.
struct NpuScript {
  std::string_view name;  // as in the PCI id list
  std::uint16_t device_id;
  std::string address;
  unsigned max_megahertz;
  Course busy;  // ns per second with a job
  Course resident_bytes;

  std::string pci_path() const { return "devices/pci0000:00/" + address; }
};

struct MachineScript {
  std::vector<GpuScript> gpus;
  std::vector<NpuScript> npus{};
  std::vector<ProcessScript> processes;  // by pid
  std::vector<ClientScript> clients;     // by id
  std::vector<UserScript> users;
  std::vector<HangScript> hangs{};
  std::vector<ChannelScript> channels{};
  HostScript host;
  bool privileged = true;  // false: a user without any permission
  std::uint32_t reader_uid = 0;
  ScriptTime uptime;  // at the start of the simulation

  const ProcessScript* process(std::uint32_t pid) const;
};

// The GPU timestamp frequency of newer parts under both drivers: 19.2 MHz.
constexpr std::uint64_t gpu_ticks(std::uint64_t nanoseconds) {
  return nanoseconds / 625 * 12 + nanoseconds % 625 * 12 / 625;
}

// nullopt for an unknown profile.
std::optional<MachineScript> script_of_profile(std::string_view profile);

// Bytes of system memory held by the GPU's clients.
std::uint64_t system_memory_used(const MachineScript& script, std::size_t gpu, ScriptTime t);

}  // namespace igpu::simulation
