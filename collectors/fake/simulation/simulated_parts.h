// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fake/simulation/simulation_script.h"
#include "fake/simulation/tree.h"
#include "machine/driver_events.h"
#include "machine/drm_node.h"
#include "machine/kernel_messages.h"
#include "machine/perf_events.h"

// What a simulated machine has besides files.
namespace igpu::simulation {

// i915_drm.h, drivers/gpu/drm/i915/i915_pmu.c
namespace i915_pmu {
inline constexpr std::uint64_t kFirstOther = 0x100000;
// Samples of an engine.
inline constexpr std::uint64_t kBusy = 0, kWait = 1, kSema = 2;
// Counters of a GT.
inline constexpr std::uint64_t kActual = 0, kRequested = 1, kInterrupts = 2, kRc6 = 3, kAwake = 4;
constexpr std::uint64_t other_config(std::uint64_t other, std::uint64_t gt) { return (kFirstOther + other) | gt << 60; }
}  // namespace i915_pmu

// Events of drivers/gpu/drm/xe/xe_pmu.c
namespace xe_pmu {
inline constexpr std::uint64_t kC6Residency = 1, kActiveTicks = 2, kTotalTicks = 3, kActualFrequency = 4,
                               kRequestedFrequency = 5;
}  // namespace xe_pmu

// Events of arch/x86/events/rapl.c
namespace rapl_pmu {
inline constexpr std::uint64_t kCores = 1, kPackage = 2, kGpu = 4, kPsys = 5;
}  // namespace rapl_pmu

struct Pmu;

// perf_event_open(2) on the PMUs of the machine, with the kernel's checks: permission first, then the PMU, the CPU, the
// event. Counts start at 0 when an event is opened. It must outlive the events.
class SimulatedPerf final : public PerfEvents {
 public:
  explicit SimulatedPerf(const World& world);
  ~SimulatedPerf() override;
  SimulatedPerf(const SimulatedPerf&) = delete;
  SimulatedPerf& operator=(const SimulatedPerf&) = delete;

  void render(Tree& sys) const;  // adds the PMUs to bus/event_source
  Reading<std::unique_ptr<PerfEvent>> open(const PerfEventConfig& event, int cpu, PerfEvent* leader) override;

 private:
  const World& world_;
  const std::vector<Pmu> pmus_;
};

// Render nodes of the simulated GPUs: i915's QUERY of memory regions and GETPARAM of HuC, xe's DEVICE_QUERY of engines,
// memory regions, configuration, GTs and firmware.
class SimulatedDrm final : public DrmNodes {
 public:
  explicit SimulatedDrm(const World& world) : world_(world) {}
  Reading<std::unique_ptr<DrmNode>> open(std::string_view name) override;

 private:
  const World& world_;
};

class SimulatedJobCounters;

// Jobs since the machine booted, as the BPF programs would have counted them (machine/bpf/job_slots.h).
class SimulatedJobs final : public JobCounterSource {
 public:
  explicit SimulatedJobs(const World& world);
  ~SimulatedJobs() override;
  SimulatedJobs(const SimulatedJobs&) = delete;
  SimulatedJobs& operator=(const SimulatedJobs&) = delete;
  Reading<const JobCounters*> get(JobDriver driver, Nanoseconds now) override;

 private:
  const World& world_;
  std::mutex mutex_;
  std::unique_ptr<SimulatedJobCounters> scheduler_, i915_;  // created at first use, because they take memory
};

// The kernel log with the hangs of the script, as the drivers would report them. It begins with the last hang of each
// HangScript before the first read, because a kernel keeps only the newest records.
class SimulatedKernelLog final : public KernelMessages {
 public:
  explicit SimulatedKernelLog(const World& world) : world_(world), written_(world.script.hangs.size()) {}
  Reading<KernelMessage> next(std::span<char> buffer) override;

 private:
  void write_until(ScriptTime now);
  void write(const HangScript& hang, ScriptTime time);
  void write_line(const GpuScript& gpu, ScriptTime time, const std::string& text);

  const World& world_;
  std::mutex mutex_;
  std::vector<std::uint64_t> written_;  // hangs, by HangScript
  bool has_begun_ = false;
  std::uint64_t sequence_ = 0;
  std::deque<std::string> records_;
};

// The uevents of every awake GPU when a monitor is plugged in or unplugged (drm_sysfs_connector_hotplug_event).
class SimulatedHotplugs final : public KernelMessages {
 public:
  explicit SimulatedHotplugs(const World& world);
  Reading<KernelMessage> next(std::span<char> buffer) override;

 private:
  const World& world_;
  std::mutex mutex_;
  std::uint64_t sent_;   // events so far, of each GPU
  std::size_t gpu_ = 0;  // whose event is next
};

// Renders a script as the files of the simulated kernel, with the drivers' file names, formats and units. All arguments
// must outlive the tree.

// sys: PCI functions, bridges, runtime PM, DRM nodes, connectors; then the files of the GPU's driver.
void render_gpu(Tree& sys, const GpuScript& gpu, const RuntimePower& power);
// sys: RAPL zones, coretemp, CPUs, devices that are not Intel GPUs.
void render_host(Tree& sys, const MachineScript& script);
void render_processes(Tree& proc, const World& world);
// The files of container runtimes on the host.
void render_root(Tree& root, const MachineScript& script);
// dev/dri
void render_device_nodes(Tree& dev, const MachineScript& script);

// ---- shared helpers ----

struct PciIds {
  std::uint16_t vendor, device;
  std::uint32_t pci_class;
  std::uint8_t revision;
  std::uint16_t subsystem_vendor, subsystem_device;
  std::string_view driver;
  int numa_node;
};
// Number of times that the monitors were plugged in or unplugged until then. Every ten minutes they are unplugged for
// four seconds.
std::uint64_t hotplugs(ScriptTime until);
// The id of the output with a monitor, of type HDMI-A.
unsigned output_id(const GpuScript& gpu);

// The directory of a PCI function and its links from bus/pci.
void render_pci_function(Tree& sys, const std::string& path, const PciIds& ids);
Folder render_hwmon(Tree& sys, const std::string& device_path, unsigned number, const std::string& name);

}  // namespace igpu::simulation
