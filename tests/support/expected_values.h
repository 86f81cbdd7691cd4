// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "fake/simulation/simulation_script.h"

// What a simulated machine must report, in base units, computed from its script.
namespace igpu::simulation {

// Of from..to, from < to.
double mean(const Course& course, ScriptTime from, ScriptTime to);
double expected_engine_busy_seconds(const GpuScript& gpu, std::string_view engine, ScriptTime from, ScriptTime to);
// Of virtual function `function`, from 1.
double expected_function_busy_ratio(const GpuScript& gpu, std::string_view engine, std::size_t function,
                                    ScriptTime from, ScriptTime to);
double expected_engine_busy_ratio(const GpuScript& gpu, std::string_view engine, ScriptTime from, ScriptTime to);
double expected_engine_wait_ratio(const GpuScript& gpu, std::string_view engine, ScriptTime from, ScriptTime to);
double expected_engine_sema_ratio(const GpuScript& gpu, std::string_view engine, ScriptTime from, ScriptTime to);
// Mean over from..to, 0 Hz while parked, as counted by the i915 PMU.
double expected_average_hertz(const GtScript& gt, bool requested, ScriptTime from, ScriptTime to);
// The value in sysfs at t: 0 while parked.
double expected_actual_hertz(const GtScript& gt, ScriptTime t);
double expected_requested_hertz(const GtScript& gt, ScriptTime t);
double expected_rc6_ratio(const GtScript& gt, ScriptTime from, ScriptTime to);
double expected_watts(const Course& microwatts, ScriptTime from, ScriptTime to);
double expected_joules(const Course& microwatts, ScriptTime from, ScriptTime to);
// Traffic of both memory controllers.
double expected_memory_bytes(const Course& lines, ScriptTime from, ScriptTime to);
// Sums over a process' own clients on one GPU. Passed-on clients belong to the process with the lowest pid.
double expected_process_busy_seconds(const MachineScript& script, std::uint32_t pid, std::size_t gpu,
                                     EngineClass engine_class, ScriptTime from, ScriptTime to);
// Over all engines of the class.
double expected_process_busy_ratio(const MachineScript& script, std::uint32_t pid, std::size_t gpu,
                                   EngineClass engine_class, ScriptTime from, ScriptTime to);
std::size_t expected_process_clients(const MachineScript& script, std::uint32_t pid, std::size_t gpu, ScriptTime t);
double expected_process_cpu_seconds(const ProcessScript& process, ScriptTime t);

}  // namespace igpu::simulation
