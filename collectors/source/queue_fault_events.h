// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "igpu/units.h"
#include "machine/bpf/fault_slots.h"
#include "source/fault_text.h"

namespace igpu {

// Hangs that the kernel writes into mapped memory (machine/bpf/fault_slots.h) as lines of the kernel log report them:
// xe's job_timeout, cat_error and engine_reset, with the queue, its class, and the process that created it if that was
// seen. Makes no system call.
class QueueFaultEvents {
 public:
  using Slots = std::span<const std::uint64_t, FAULT_SLOTS>;
  // What was written since the last call, oldest first. time: CLOCK_MONOTONIC. Returns how many were overwritten before
  // they were read. line is valid during the call.
  std::uint64_t read(Slots slots, const std::function<void(const FaultLine& line, Nanoseconds time)>& f);

 private:
  std::uint64_t next_ = 0;
};

}  // namespace igpu
