// SPDX-License-Identifier: Apache-2.0
#include "fake/simulation/simulation.h"

#include <cerrno>
#include <list>
#include <vector>

#include "fake/simulation/profiles.h"
#include "fake/simulation/simulated_parts.h"
#include "fake/simulation/tree.h"
#include "igpu/monitor.h"

namespace igpu {

namespace simulation {
namespace {

// What a machine knows besides files. Start times of simulated processes are in the script's time.
class Host final : public Clock, public Privileges, public Names {
 public:
  explicit Host(const World& world) : world_(world), script_(world.script) {}
  Nanoseconds now() const override { return world_.caller.now(); }
  Reading<Nanoseconds> boot_now() const override { return world_.clock.now(); }
  bool has_capability(int) const override { return script_.privileged; }
  std::uint32_t effective_uid() const override { return script_.reader_uid; }
  bool in_initial_user_namespace() const override { return true; }
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
  const World& world_;
  const MachineScript& script_;
};

}  // namespace
}  // namespace simulation

struct SimulatedMachine::State {
  State(simulation::MachineScript what, const Clock& caller) : world(std::move(what), caller) {
    using namespace simulation;
    const MachineScript& script = world.script;
    for (std::size_t i = 0; i < script.gpus.size(); ++i) render_gpu(sys_tree, script.gpus[i], world.power[i]);
    render_host(sys_tree, script);
    perf.render(sys_tree);
    render_processes(proc_tree, world);
    render_device_nodes(dev_tree, script);
    render_root(root_tree, script);
  }

  const simulation::World world;
  simulation::Tree sys_tree{world.clock, world.script.reader_uid};
  simulation::Tree proc_tree{world.clock, world.script.reader_uid};
  simulation::Tree dev_tree{world.clock, world.script.reader_uid};
  simulation::Tree root_tree{world.clock, world.script.reader_uid};
  simulation::TreeDirectory sys{sys_tree};
  simulation::TreeDirectory proc{proc_tree};
  simulation::TreeDirectory dev{dev_tree};
  simulation::TreeDirectory root{root_tree};
  simulation::SimulatedPerf perf{world};
  simulation::SimulatedDrm drm{world};
  simulation::SimulatedJobs jobs{world};
  // One for each reader.
  std::list<simulation::SimulatedKernelLog> kernel_logs;
  std::list<simulation::SimulatedHotplugs> hotplugs;
  NoMessages uevents;  // no GPU of the simulation is wedged, or reset as a whole
  simulation::Host host{world};
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
  Machine machine{s.sys, s.proc, s.dev, s.perf, s.drm, s.host, s.host, s.host, nullptr, &s.root};
  machine.job_counters = &s.jobs;
  machine.queue_faults = Absent{Reason::disabled, ENOENT};
  machine.uevents = &s.uevents;
  machine.output_uevents = &s.hotplugs.emplace_back(s.world);
  machine.kernel_log = Absent{Reason::permission, EPERM};
  if (s.world.script.privileged) machine.kernel_log = &s.kernel_logs.emplace_back(s.world);
  return machine;
}

const simulation::MachineScript& SimulatedMachine::script() const { return state_->world.script; }

simulation::ScriptTime SimulatedMachine::script_time(Nanoseconds clock_time) const {
  return state_->world.clock.at(clock_time);
}

std::uint64_t SimulatedMachine::resumes() const {
  std::uint64_t sum = 0;
  for (const simulation::RuntimePower& power : state_->world.power) sum += power.resumes();
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
