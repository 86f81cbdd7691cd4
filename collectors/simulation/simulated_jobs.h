// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "machine/job_counters.h"
#include "simulation/simulation_script.h"
#include "simulation/tree.h"

namespace igpu::simulation {

// Jobs that one process submits to one class of engines: the engine time of the script, divided into jobs of a typical
// length. The more of the engines is in use, the longer a job waits.
struct ClassJobs {
  // busy: what the process uses, busy_of_all: what all use, in ns per second. number: of jobs per second, equally long
  // in each second; null: they have typical lengths.
  ClassJobs(const GpuScript& gpu, EngineClass engine_class, const Course& busy, const Course& busy_of_all,
            const Course* number);

  // Jobs per second; indices are those of the histograms. Every eighth job of i915 is one that nobody waits for.
  std::array<Course, JOB_BUCKETS> queue, run;
  Course bound;
  Course queue_ns, run_ns;  // per second
};

// What the kernel's programs would have counted, machine/bpf/job_slots.h, since the machine booted.
class SimulatedJobCounters final : public JobCounters {
 public:
  SimulatedJobCounters(const MachineScript& script, JobDriver driver);
  void advance_to(ScriptTime now);

  std::span<const std::uint64_t, JOB_SLOTS> slots() const override { return slots_; }
  std::span<std::uint64_t> process_slots() const override { return process_slots_; }
  Reading<std::uint64_t> recursion_misses() const override { return std::uint64_t{0}; }

 private:
  struct Part {
    std::uint64_t* slots;  // of a process, or of the kernel
    ClassJobs jobs;
    const ProcessScript* process = nullptr;
  };
  struct Group {
    std::uint64_t* slots;  // of the device: the sum of the parts
    std::vector<Part> parts;
  };
  void add_processes(const MachineScript& script, std::size_t gpu, EngineClass engine_class, std::uint64_t kind);
  static void write(const Part& part, ScriptTime now);

  std::array<std::uint64_t, JOB_SLOTS> slots_{};
  mutable std::vector<std::uint64_t> process_slots_;
  std::vector<Group> groups_;
  std::mutex mutex_;
  ScriptTime now_{-1};
};

class SimulatedJobs final : public JobCounterSource {
 public:
  SimulatedJobs(const MachineScript& script, const ScriptClock& clock);
  Reading<const JobCounters*> get(JobDriver driver, Nanoseconds now) override;

 private:
  const MachineScript& script_;
  const ScriptClock& clock_;
  std::mutex mutex_;
  std::unique_ptr<SimulatedJobCounters> scheduler_, i915_;  // from the first time that somebody asks: they take memory
};

}  // namespace igpu::simulation
