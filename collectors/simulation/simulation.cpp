// SPDX-License-Identifier: Apache-2.0
#include "simulation/simulation.h"

#include <cerrno>
#include <list>
#include <vector>

#include "igpu/monitor.h"
#include "machine/boot_clock.h"
#include "simulation/pmu_catalog.h"
#include "simulation/profiles.h"
#include "simulation/renderers.h"
#include "simulation/simulated_drm.h"
#include "simulation/simulated_faults.h"
#include "simulation/simulated_jobs.h"
#include "simulation/simulated_perf.h"
#include "simulation/tree.h"

namespace igpu {

namespace simulation {
namespace {

// Start times of simulated processes are in the script's time.
class SimulatedClock final : public Clock, public BootClock {
 public:
  SimulatedClock(const Clock& clock, const ScriptClock& script) : clock_(clock), script_(script) {}
  Nanoseconds now() const override { return clock_.now(); }
  Reading<Nanoseconds> boot_now() const override { return script_.now(); }

 private:
  const Clock& clock_;
  const ScriptClock& script_;
};

class ScriptPrivileges final : public Privileges {
 public:
  explicit ScriptPrivileges(const MachineScript& script) : script_(script) {}
  bool has_capability(int) const override { return script_.privileged; }
  std::uint32_t effective_uid() const override { return script_.reader_uid; }
  bool in_initial_user_namespace() const override { return true; }

 private:
  const MachineScript& script_;
};

class ScriptNames final : public Names {
 public:
  explicit ScriptNames(const MachineScript& script) : script_(script) {}
  std::string pci_device(std::uint16_t vendor, std::uint16_t device) const override {
    if (vendor != 0x8086) return {};
    for (const GpuScript& gpu : script_.gpus) {
      if (gpu.model.device_id == device) return std::string(gpu.model.name);
    }
    for (const NpuScript& npu : script_.npus)
      if (npu.device_id == device) return std::string(npu.name);
    return {};
  }
  std::string user(std::uint32_t uid) const override {
    for (const UserScript& user : script_.users) {
      if (user.uid == uid) return user.name;
    }
    return {};
  }

 private:
  const MachineScript& script_;
};

std::vector<std::unique_ptr<RuntimePower>> power_of(const MachineScript& script) {
  std::vector<std::unique_ptr<RuntimePower>> power;
  for (const GpuScript& gpu : script.gpus) power.push_back(std::make_unique<RuntimePower>(gpu.suspended));
  return power;
}

}  // namespace
}  // namespace simulation

struct SimulatedMachine::State {
  State(simulation::MachineScript what, const Clock& time)
      : script(std::move(what)), time_of_caller(time), script_clock(time, script.uptime), clock(time, script_clock) {
    using namespace simulation;
    for (std::size_t i = 0; i < script.gpus.size(); ++i) render_gpu(sys_tree, script.gpus[i], *power[i]);
    render_host(sys_tree, script);
    render_pmus(sys_tree, script, pmus);
    render_processes(proc_tree, script, power);
    render_device_nodes(dev_tree, script);
    render_root(root_tree, script);
  }

  const simulation::MachineScript script;
  const Clock& time_of_caller;
  const simulation::ScriptClock script_clock;
  simulation::SimulatedClock clock;
  const std::vector<std::unique_ptr<simulation::RuntimePower>> power = simulation::power_of(script);
  const std::vector<simulation::Pmu> pmus = simulation::pmus_of(script);
  simulation::Tree sys_tree{script_clock, script.reader_uid};
  simulation::Tree proc_tree{script_clock, script.reader_uid};
  simulation::Tree dev_tree{script_clock, script.reader_uid};
  simulation::Tree root_tree{script_clock, script.reader_uid};
  simulation::TreeDirectory sys{sys_tree};
  simulation::TreeDirectory proc{proc_tree};
  simulation::TreeDirectory dev{dev_tree};
  simulation::TreeDirectory root{root_tree};
  simulation::SimulatedPerf perf{script, pmus, power, script_clock};
  simulation::SimulatedDrm drm{script, power, script_clock};
  simulation::SimulatedJobs jobs{script, script_clock};
  std::list<simulation::SimulatedKernelLog> kernel_logs;  // one for each reader
  simulation::SimulatedUevents uevents;
  std::list<simulation::SimulatedHotplugs> hotplugs;  // likewise
  simulation::ScriptPrivileges privileges{script};
  simulation::ScriptNames names{script};
};

SimulatedMachine::SimulatedMachine(std::unique_ptr<State> state) : state_(std::move(state)) {}
SimulatedMachine::~SimulatedMachine() = default;

std::unique_ptr<SimulatedMachine> SimulatedMachine::create(std::string_view profile, const Clock& clock,
                                                           std::optional<Nanoseconds> unix_now) {
  std::optional<simulation::MachineScript> script = simulation::script_of_profile(profile);
  if (script && unix_now) script->host.booted = std::chrono::floor<std::chrono::seconds>(*unix_now - script->uptime);
  return script ? create(std::move(*script), clock) : nullptr;
}

std::unique_ptr<SimulatedMachine> SimulatedMachine::create(simulation::MachineScript script, const Clock& clock) {
  return std::unique_ptr<SimulatedMachine>(new SimulatedMachine(std::make_unique<State>(std::move(script), clock)));
}

Machine SimulatedMachine::machine() {
  State& s = *state_;
  Machine machine{s.sys, s.proc, s.dev, s.perf, s.drm, s.clock, s.privileges, s.names, nullptr, &s.root};
  machine.job_counters = &s.jobs;
  machine.why_no_queue_faults = {Reason::disabled, ENOENT};
  machine.uevents.messages = &s.uevents;
  machine.output_uevents.messages = &s.hotplugs.emplace_back(s.script, s.script_clock);
  machine.kernel_log.why = {Reason::permission, EPERM};
  if (s.script.privileged)
    machine.kernel_log.messages = &s.kernel_logs.emplace_back(s.script, s.script_clock, s.time_of_caller);
  return machine;
}

const simulation::MachineScript& SimulatedMachine::script() const { return state_->script; }

simulation::ScriptTime SimulatedMachine::script_time(Nanoseconds clock_time) const {
  return state_->script_clock.at(clock_time);
}

std::uint64_t SimulatedMachine::resumes() const {
  std::uint64_t sum = 0;
  for (const auto& power : state_->power) sum += power->resumes();
  return sum;
}

std::span<const SimulationProfile> simulation_profiles() {
  static const std::vector<SimulationProfile> about = [] {
    std::vector<SimulationProfile> list;
    for (const simulation::Profile& profile : simulation::profiles()) list.push_back(profile.about);
    return list;
  }();
  return about;
}

}  // namespace igpu
