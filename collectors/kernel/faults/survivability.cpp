// SPDX-License-Identifier: Apache-2.0
#include "kernel/faults/survivability.h"

#include <string>

namespace igpu {

Reading<bool> in_survivability_mode(const Directory& sys, std::string_view pci_path) {
  const auto facts = sys.stat(std::string(pci_path) + "/survivability_mode");
  if (facts) return true;
  if (facts.is_absent() && facts.absent().reason == Reason::kernel) return false;
  return facts.propagate<bool>();
}

}  // namespace igpu
