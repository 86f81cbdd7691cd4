// SPDX-License-Identifier: Apache-2.0
#include "simulation/simulation_script.h"

#include <algorithm>

namespace igpu::simulation {

std::string GpuScript::pci_path() const {
  std::string path = "devices/pci0000:00/";
  for (const std::string& bridge : bridges) path += bridge + "/";
  return path + address;
}

std::string GpuScript::pmu_name() const {
  if (model.driver == Driver::i915 && model.kind == GpuKind::integrated) return "i915";
  std::string name = std::string(to_string(model.driver)) + "_" + address;
  std::replace(name.begin(), name.end(), ':', '_');
  return name;
}

const EngineScript* GpuScript::engine(std::string_view name) const {
  const auto at = std::find_if(engines.begin(), engines.end(), [&](const EngineScript& e) { return e.name == name; });
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
  const auto at =
      std::find_if(processes.begin(), processes.end(), [&](const ProcessScript& p) { return p.pid == pid; });
  return at == processes.end() ? nullptr : &*at;
}

namespace {

// Each container has an id of its own.
std::string with_number(std::string id, std::uint64_t number) {
  for (auto digit = id.rbegin(); digit != id.rend() && number > 0; ++digit, number /= 16)
    *digit = "0123456789abcdef"[number % 16];
  return id;
}

double seconds(ScriptTime from, ScriptTime to) { return static_cast<double>((to - from).count()) * 1e-9; }

double grown(const Course& course, ScriptTime from, ScriptTime to) {
  return static_cast<double>(course.integral(to) - course.integral(from));
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

double expected_engine_busy_seconds(const GpuScript& gpu, std::string_view engine, ScriptTime from, ScriptTime to) {
  return grown(gpu.engine(engine)->busy, from, to) * 1e-9;
}

double expected_engine_busy_ratio(const GpuScript& gpu, std::string_view engine, ScriptTime from, ScriptTime to) {
  return expected_engine_busy_seconds(gpu, engine, from, to) / seconds(from, to);
}

double expected_engine_wait_ratio(const GpuScript& gpu, std::string_view engine, ScriptTime from, ScriptTime to) {
  return grown(gpu.engine(engine)->wait, from, to) * 1e-9 / seconds(from, to);
}

double expected_engine_sema_ratio(const GpuScript& gpu, std::string_view engine, ScriptTime from, ScriptTime to) {
  return grown(gpu.engine(engine)->sema, from, to) * 1e-9 / seconds(from, to);
}

double expected_average_hertz(const GtScript& gt, bool requested, ScriptTime from, ScriptTime to) {
  return (requested ? gt.requested_awake_khz : gt.actual_awake_khz).mean(from, to) * 1e3;
}

double expected_actual_hertz(const GtScript& gt, ScriptTime t) {
  return gt.parked(t) ? 0 : static_cast<double>(gt.actual_khz.value(t)) * 1e3;
}

double expected_requested_hertz(const GtScript& gt, ScriptTime t) {
  return static_cast<double>(gt.requested_khz.value(t)) * 1e3;
}

double expected_rc6_ratio(const GtScript& gt, ScriptTime from, ScriptTime to) {
  return grown(gt.asleep, from, to) * 1e-9 / seconds(from, to);
}

double expected_joules(const Course& microwatts, ScriptTime from, ScriptTime to) {
  return grown(microwatts, from, to) * 1e-6;
}

double expected_watts(const Course& microwatts, ScriptTime from, ScriptTime to) {
  return expected_joules(microwatts, from, to) / seconds(from, to);
}

double expected_memory_bytes(const Course& lines, ScriptTime from, ScriptTime to) {
  return grown(lines, from, to) * 64;
}

std::uint64_t expected_system_memory_used(const MachineScript& script, std::size_t gpu, ScriptTime t) {
  std::uint64_t sum = 0;
  for (const ClientScript& client : script.clients) {
    if (client.gpu == gpu) sum += client.system_bytes.value(t);
  }
  return sum;
}

double expected_process_busy_seconds(const MachineScript& script, std::uint32_t pid, std::size_t gpu,
                                     EngineClass engine_class, ScriptTime from, ScriptTime to) {
  double sum = 0;
  for (const ClientScript& client : script.clients) {
    if (client.pid != pid || client.gpu != gpu) continue;
    sum += static_cast<double>(client.engine_nanoseconds(script.gpus[gpu], engine_class, to) -
                               client.engine_nanoseconds(script.gpus[gpu], engine_class, from));
  }
  return sum * 1e-9;
}

double expected_process_busy_ratio(const MachineScript& script, std::uint32_t pid, std::size_t gpu,
                                   EngineClass engine_class, ScriptTime from, ScriptTime to) {
  const auto& engines = script.gpus[gpu].engines;
  const auto capacity = std::count_if(engines.begin(), engines.end(),
                                      [&](const EngineScript& e) { return e.model.engine_class == engine_class; });
  return expected_process_busy_seconds(script, pid, gpu, engine_class, from, to) / seconds(from, to) /
         static_cast<double>(capacity);
}

std::size_t expected_process_clients(const MachineScript& script, std::uint32_t pid, std::size_t gpu, ScriptTime t) {
  return static_cast<std::size_t>(std::count_if(
      script.clients.begin(), script.clients.end(),
      [&](const ClientScript& client) { return client.pid == pid && client.gpu == gpu && client.open.exists(t); }));
}

double expected_process_cpu_seconds(const ProcessScript& process, ScriptTime t) {
  return static_cast<double>(process.cpu.integral(t) - process.cpu.integral(process.life.began(t))) * 1e-9;
}

}  // namespace igpu::simulation
