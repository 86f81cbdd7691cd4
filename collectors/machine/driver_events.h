// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "igpu/reading.h"
#include "igpu/units.h"
#include "machine/bpf/fault_slots.h"
#include "machine/bpf/job_slots.h"

namespace igpu {

// BPF programs on a driver's tracepoints. Once opened they stay open. A driver that is not loaded is tried again a
// minute later: while the process has the rights, a driver that is loaded after the start is picked up.
template <class T>
class OpenedOnDemand {
 public:
  template <class Open>  // Reading<std::unique_ptr<T>>()
  Reading<const T*> get(Nanoseconds now, Open&& open) {
    constexpr Nanoseconds kTryAgain = std::chrono::minutes(1);
    const bool not_loaded = outcome_ && outcome_->is_absent() && outcome_->absent() == Absent{Reason::kernel, ENOENT};
    if (!outcome_ || (not_loaded && !given_up_ && now - tried_ >= kTryAgain)) {
      tried_ = now;
      Reading<std::unique_ptr<T>> outcome = open();
      // If the sandbox denies a later attempt, the first outcome stays: the driver was not loaded. There is no further
      // attempt, because each would be denied, too, after reading all types of the kernel.
      if (outcome_ && outcome.is_absent() && outcome.absent().reason == Reason::permission)
        given_up_ = true;
      else if (!outcome_ || outcome)
        outcome_.emplace(std::move(outcome));
    }
    if (!*outcome_) return outcome_->template propagate<const T*>();
    return static_cast<const T*>((*outcome_)->get());
  }

 private:
  std::optional<Reading<std::unique_ptr<T>>> outcome_;
  Nanoseconds tried_{};
  bool given_up_ = false;
};

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

// Hangs of xe's queues that BPF programs report, with the processes that created the queues since this was opened.
// While it exists the module xe cannot be unloaded.
class QueueFaults {
 public:
  virtual ~QueueFaults() = default;
  // Mapped memory, which the kernel writes while it is read; machine/bpf/fault_slots.h is its layout. Makes no system
  // call.
  virtual std::span<const std::uint64_t, FAULT_SLOTS> slots() const = 0;
};

// Needs CAP_BPF and CAP_PERFMON. Absent as for open_job_counters(); ENOENT: xe is not loaded. ENODATA: xe is loaded,
// but has not the tracepoints or the structures that the programs read, or the kernel does not describe them.
Reading<std::unique_ptr<QueueFaults>> open_queue_faults();

class QueueFaultSource {
 public:
  virtual ~QueueFaultSource() = default;
  virtual Reading<const QueueFaults*> get(Nanoseconds now) = 0;
};

class QueueFaultsOnDemand final : public QueueFaultSource {
 public:
  Reading<const QueueFaults*> get(Nanoseconds now) override { return faults_.get(now, &open_queue_faults); }

 private:
  OpenedOnDemand<QueueFaults> faults_;
};

}  // namespace igpu
