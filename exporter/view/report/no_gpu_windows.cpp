// SPDX-License-Identifier: Apache-2.0
#include "view/report/gpu_summary.h"

namespace igpu::exporter {

NoGpuAdvice no_gpu_advice(const std::string& /*sysfs_root*/) {
  return {
      "none of Windows' graphics adapters is Intel's (vendor 0x8086) and has a running driver; this needs Windows 10 "
      "1809 or newer",
      "powershell Get-PnpDevice -Class Display",
      "if it is listed and its status is not OK: install Intel's graphics driver; in a virtual machine: pass the "
      "GPU to it"};
}

}  // namespace igpu::exporter
