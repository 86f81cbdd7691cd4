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

// Jobs of one class of engines: the engine time of the script, divided into jobs of a typical length. The more of the
// engines is in use, the longer a job waits.
struct ClassJobs {
  ClassJobs(const GpuScript& gpu, EngineClass engine_class);

  // Jobs per second; indices are those of the histograms. Every eighth job of i915 is one that nobody waits for.
  std::array<Course, JOB_BUCKETS> queue, run;
  Course bound;
};

// What the kernel's programs would have counted, machine/bpf/job_slots.h, since the machine booted.
class SimulatedJobCounters final : public JobCounters {
 public:
  SimulatedJobCounters(const MachineScript& script, JobDriver driver);
  void advance_to(ScriptTime now);

  std::span<const std::uint64_t, JOB_SLOTS> slots() const override { return slots_; }
  Reading<std::uint64_t> recursion_misses() const override { return std::uint64_t{0}; }

 private:
  struct Group {
    std::size_t first_slot;
    ClassJobs jobs;
  };
  void set(std::size_t slot, std::uint64_t value);

  std::array<std::uint64_t, JOB_SLOTS> slots_{};
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
  SimulatedJobCounters scheduler_, i915_;
};

}  // namespace igpu::simulation
