// SPDX-License-Identifier: Apache-2.0
// The memory that BPF programs write about failed queues, read twice.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "fuzz/fuzz_target.h"
#include "kernel/device/drm_nodes.h"
#include "kernel/faults/queue_fault_events.h"

FUZZ_TARGET(queue_faults) {
  std::array<std::uint64_t, FAULT_SLOTS> slots{};
  std::memcpy(slots.data(), data, std::min(size, sizeof slots));
  igpu::QueueFaultEvents events;
  std::uint64_t seen = 0;
  const auto check = [&](const igpu::FaultLine& line, igpu::Nanoseconds) {
    ++seen;
    FUZZ_CHECK(igpu::is_pci_address(line.device));
    FUZZ_CHECK(line.queue && line.gt && *line.gt < 256);
    if (line.process)
      FUZZ_CHECK(line.process->pid != 0 && !line.process->name.empty() && line.process->name.size() <= FAULT_NAME_SIZE);
  };
  const std::uint64_t lost = events.read(slots, check);
  FUZZ_CHECK(seen <= FAULT_PLACES && lost <= slots[FAULT_WRITTEN]);
  seen = 0;
  FUZZ_CHECK(events.read(slots, check) == 0 && seen == 0);  // nothing was written meanwhile
  return 0;
}
