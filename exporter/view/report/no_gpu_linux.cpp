// SPDX-License-Identifier: Apache-2.0
#include "view/report/gpu_summary.h"

namespace igpu::exporter {

NoGpuAdvice no_gpu_advice(const std::string& sysfs_root) {
  return {"no PCI device of vendor 0x8086 below " + sysfs_root + "/class/drm is bound to i915 or xe",
          "lspci -nnk -d 8086::0300; lspci -nnk -d 8086::0380",
          "if it is listed without a driver: `modprobe i915` or `modprobe xe`; in a container: mount /sys of the host"};
}

}  // namespace igpu::exporter
