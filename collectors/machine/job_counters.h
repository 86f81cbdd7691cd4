// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "igpu/reading.h"
#include "igpu/units.h"
#include "machine/bpf/job_slots.h"
#include "machine/opened_on_demand.h"

namespace igpu {

// Whose tracepoints report jobs: the scheduler that xe and most drivers share, or i915's own.
enum class JobDriver { drm_sched, i915 };

// Jobs that the kernel counts for us, from when this is opened until it is closed. While it exists the driver's
// modules cannot be unloaded.
class JobCounters {
 public:
  virtual ~JobCounters() = default;

  // Mapped memory, which the kernel writes while it is read; machine/bpf/job_slots.h is its layout. Makes no system
  // call.
  virtual std::span<const std::uint64_t, JOB_SLOTS> slots() const = 0;

  // The counters by process: every group of the table. The kernel writes them, and takes the groups that the reader
  // frees: job_slots.h.
  virtual std::span<std::uint64_t> process_slots() const { return {}; }
  // Whether jobs of all classes are counted by process, with their times: for workloads, which then free the groups.
  // Otherwise those of the video class are.
  virtual bool all_classes() const { return false; }

  // Events that arrived while the program for them was running on the same processor: the kernel does not run it again.
  // Costs one system call for each program.
  virtual Reading<std::uint64_t> recursion_misses() const = 0;
};

// Needs CAP_BPF and CAP_PERFMON. Absent: permission (denied), kernel (ENOENT: the driver is not loaded, or has no such
// tracepoints; ENODATA: no BTF), disabled (ENOSYS: this program was built without BPF).
Reading<std::unique_ptr<JobCounters>> open_job_counters(JobDriver driver, bool all_classes);

// The counters of a machine, opened on demand.
class JobCounterSource {
 public:
  virtual ~JobCounterSource() = default;
  virtual Reading<const JobCounters*> get(JobDriver driver, Nanoseconds now) = 0;
};

class JobCountersOnDemand final : public JobCounterSource {
 public:
  using Open = Reading<std::unique_ptr<JobCounters>> (*)(JobDriver, bool all_classes);
  explicit JobCountersOnDemand(bool all_classes, Open open = &open_job_counters)
      : all_classes_(all_classes), open_(open) {}

  Reading<const JobCounters*> get(JobDriver driver, Nanoseconds now) override {
    return slots_[static_cast<std::size_t>(driver)].get(now, [&] { return open_(driver, all_classes_); });
  }

 private:
  bool all_classes_;
  Open open_;
  std::array<OpenedOnDemand<JobCounters>, 2> slots_;
};

}  // namespace igpu
