// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "igpu/units.h"
#include "kernel/faults/fault_text.h"
#include "machine/bpf/fault_slots.h"

namespace igpu {

// Reads the hangs that BPF programs write into mapped memory (machine/bpf/fault_slots.h), in the form of parsed kernel
// log lines: job_timeout, cat_error and engine_reset of xe, with the queue, its class, and its creator if the creation
// was seen. Makes no system call.
class QueueFaultEvents {
 public:
  using Slots = std::span<const std::uint64_t, FAULT_SLOTS>;
  // Calls f for each hang since the last call, oldest first. time: CLOCK_MONOTONIC. line: valid during the call of f.
  // Returns the number of hangs that were overwritten before they were read.
  std::uint64_t read(Slots slots, const std::function<void(const FaultLine& line, Nanoseconds time)>& f);

 private:
  std::uint64_t next_ = 0;
};

}  // namespace igpu
