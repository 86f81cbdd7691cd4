// SPDX-License-Identifier: Apache-2.0
// Texts about virtual functions: adverse_events of debugfs, and the fdinfo of a VFIO device.
#include <algorithm>
#include <cstdint>
#include <string_view>

#include "fuzz/fuzz_target.h"
#include "kernel/device/drm_nodes.h"
#include "kernel/sriov/sriov_files.h"
#include "kernel/sriov/vfio_holders.h"

FUZZ_TARGET(vf_text) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const igpu::VfAdverseEvents& events : igpu::parse_adverse_events(text)) {
    FUZZ_CHECK(events.vf >= 1 && events.vf <= igpu::kMostVfs);
    FUZZ_CHECK(events.counts.size() <= igpu::kMostKinds);
    for (const auto& count : events.counts) {
      const auto& known = igpu::kAdverseKinds;  // the names of i915-sriov-dkms become these
      FUZZ_CHECK(!count.kind.empty());
      FUZZ_CHECK(text.find(count.kind) != std::string_view::npos ||
                 std::find(known.begin(), known.end(), count.kind) != known.end());
      FUZZ_CHECK(std::none_of(count.kind.begin(), count.kind.end(), [](char c) { return c < ' ' || c > '~'; }));
    }
  }
  const std::string_view address = igpu::vfio_device_of(text);
  FUZZ_CHECK(address.empty() || igpu::is_pci_address(address));
  return 0;
}
