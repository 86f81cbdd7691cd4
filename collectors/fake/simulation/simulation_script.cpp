// SPDX-License-Identifier: Apache-2.0
#include "fake/simulation/simulation_script.h"

#include <algorithm>

namespace igpu::simulation {

std::string GpuScript::pci_path() const {
  std::string path = "devices/pci0000:00/";
  for (const std::string& bridge : bridges) path += bridge + "/";
  return path + address;
}

std::string GpuScript::address_of(const FunctionScript& function) const {
  return address.substr(0, address.size() - 1) + std::to_string(function.number);
}

std::string GpuScript::path_of(const FunctionScript& function) const {
  const std::string path = pci_path();
  return path.substr(0, path.size() - address.size()) + address_of(function);
}

std::string GpuScript::pmu_name() const {
  if (model.driver == Driver::i915 && model.kind == GpuKind::integrated) return "i915";
  std::string name = std::string(to_string(model.driver)) + "_" + address;
  std::ranges::replace(name, ':', '_');
  return name;
}

const EngineScript* GpuScript::engine(std::string_view name) const {
  const auto at = std::ranges::find(engines, name, &EngineScript::name);
  return at == engines.end() ? nullptr : &*at;
}

std::uint64_t ClientScript::engine_nanoseconds(const GpuScript& gpu_script, EngineClass engine_class,
                                               ScriptTime t) const {
  std::uint64_t sum = 0;
  for (const auto& [index, course] : engines) {
    if (gpu_script.engines[index].model.engine_class == engine_class)
      sum += course.integral(t) - course.integral(std::min(t, open.began(t)));
  }
  return sum;
}

// i915 and xe count upwards: one that begins later has a higher id.
std::uint64_t ClientScript::id(ScriptTime t) const { return first_id + 10'000 * open.predecessors(t); }

MemoryUse ClientScript::local_memory(ScriptTime t) const {
  const std::uint64_t resident = local_bytes.value(t);
  return {resident, resident / 16 / 65536 * 65536, resident / 4 / 65536 * 65536, resident, 0};
}

MemoryUse ClientScript::system_memory(ScriptTime t) const {
  const std::uint64_t resident = system_bytes.value(t);
  return {resident + std::uint64_t{8} * 4096, 0, resident / 2 / 4096 * 4096, resident, resident / 32 / 4096 * 4096};
}

const ProcessScript* MachineScript::process(std::uint32_t pid) const {
  const auto at = std::ranges::find(processes, pid, &ProcessScript::pid);
  return at == processes.end() ? nullptr : &*at;
}

namespace {

// Each container has an id of its own.
std::string with_number(std::string id, std::uint64_t number) {
  for (auto digit = id.rbegin(); digit != id.rend() && number > 0; ++digit, number /= 16)
    *digit = "0123456789abcdef"[number % 16];
  return id;
}

}  // namespace

std::string ProcessScript::container_id(ScriptTime t) const {
  return restarts_container
             ? with_number(place.container_id, static_cast<std::uint64_t>(life.began(t) / std::chrono::seconds(1)))
             : place.container_id;
}

std::string ProcessScript::cgroup(ScriptTime t) const {
  std::string path = place.cgroup;
  if (restarts_container) path.replace(path.find(place.container_id), place.container_id.size(), container_id(t));
  return path;
}

std::uint64_t system_memory_used(const MachineScript& script, std::size_t gpu, ScriptTime t) {
  std::uint64_t sum = 0;
  for (const ClientScript& client : script.clients) {
    if (client.gpu == gpu) sum += client.system_bytes.value(t);
  }
  return sum;
}

}  // namespace igpu::simulation
