// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "igpu/reading.h"
#include "igpu/units.h"
#include "machine/bpf/fault_slots.h"
#include "machine/opened_on_demand.h"

namespace igpu {

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
