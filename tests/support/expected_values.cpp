// SPDX-License-Identifier: Apache-2.0
#include "support/expected_values.h"

#include <algorithm>

namespace igpu::simulation {
namespace {

double seconds(ScriptTime from, ScriptTime to) { return static_cast<double>((to - from).count()) * 1e-9; }

double grown(const Course& course, ScriptTime from, ScriptTime to) {
  return static_cast<double>(course.integral(to) - course.integral(from));
}

}  // namespace

double mean(const Course& course, ScriptTime from, ScriptTime to) {
  return grown(course, from, to) / seconds(from, to);
}

double expected_engine_busy_seconds(const GpuScript& gpu, std::string_view engine, ScriptTime from, ScriptTime to) {
  return grown(gpu.engine(engine)->busy, from, to) * 1e-9;
}

double expected_function_busy_ratio(const GpuScript& gpu, std::string_view engine, std::size_t function,
                                    ScriptTime from, ScriptTime to) {
  return grown(gpu.engine(engine)->of_functions[function - 1], from, to) * 1e-9 / seconds(from, to);
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
  return mean(requested ? gt.requested_awake_khz : gt.actual_awake_khz, from, to) * 1e3;
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
