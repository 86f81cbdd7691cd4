// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <string>

#include "igpu/reading.h"
#include "kernel/clients/clients.h"
#include "machine/machine.h"

namespace igpu {

// Finds every DRM client of i915 and xe on the machine, deduplicated, with facts about the processes that hold a
// client. The exporter's own process is skipped: it opens nodes only to measure. One thread at a time.
class ClientFinder {
 public:
  virtual ~ClientFinder() = default;
  // asleep: PCI addresses of suspended GPUs; their clients are skipped. Absent or Failure only if /proc itself cannot
  // be read; processes that ended or may not be read are counted in the snapshot.
  virtual Reading<ClientSnapshot> find(std::span<const std::string> asleep) = 0;
};

// Uses BPF where the machine offers it, otherwise a walk over /proc. Under Windows: the graphics kernel's statistics of
// each process.
std::unique_ptr<ClientFinder> make_client_finder(Machine& machine);

}  // namespace igpu
