// SPDX-License-Identifier: Apache-2.0
#include "source/runtime_pm.h"

#include <array>
#include <string>

#include "base/scan.h"

namespace igpu {

RuntimePm::RuntimePm(const Directory& sys, std::string_view pci_path)
    : status_(sys.open(std::string(pci_path) + "/power/runtime_status")) {}

Reading<bool> RuntimePm::suspended() {
  if (!status_) return status_.propagate<bool>();
  std::array<char, 32> buffer;
  const auto text = (*status_)->read(buffer);
  if (!text) return text.propagate<bool>();
  const std::string_view status = trim(*text);
  if (status == "unsupported") return Absent{Reason::hardware};
  return status == "suspended" || status == "suspending";
}

}  // namespace igpu
