// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "machine/kernel_messages.h"
#include "simulation/simulation_script.h"
#include "simulation/tree.h"

namespace igpu::simulation {

// The kernel log with the hangs of the script, as its drivers would write them. It begins with the last one of each
// before the first read: the ring of a kernel holds no more.
class SimulatedKernelLog final : public KernelMessages {
 public:
  SimulatedKernelLog(const MachineScript& script, const ScriptClock& script_clock, const Clock& clock);
  Reading<KernelMessage> next(std::span<char> buffer) override;

 private:
  void write_until(ScriptTime now);
  void write(const HangScript& hang, ScriptTime time);
  void write_line(const GpuScript& gpu, ScriptTime time, const std::string& text);

  const MachineScript& script_;
  const ScriptClock& script_clock_;
  const Clock& clock_;
  std::mutex mutex_;
  std::vector<std::uint64_t> written_;  // hangs, by HangScript
  bool has_begun_ = false;
  std::uint64_t sequence_ = 0;
  std::deque<std::string> records_;
};

// A GPU of the simulation is never wedged and never reset as a whole: there are no uevents.
class SimulatedUevents final : public KernelMessages {
 public:
  Reading<KernelMessage> next(std::span<char>) override { return KernelMessage{}; }
};

// What the kernel sends when a monitor is plugged in or out (drm_sysfs_connector_hotplug_event): of every awake GPU.
class SimulatedHotplugs final : public KernelMessages {
 public:
  SimulatedHotplugs(const MachineScript& script, const ScriptClock& script_clock);
  Reading<KernelMessage> next(std::span<char> buffer) override;

 private:
  const MachineScript& script_;
  const ScriptClock& script_clock_;
  std::mutex mutex_;
  std::uint64_t sent_;   // of every GPU
  std::size_t gpu_ = 0;  // the next one
};

}  // namespace igpu::simulation
