// SPDX-License-Identifier: Apache-2.0
#include "igpu/monitor.h"
#include "kernel/pmu/pmu_files.h"
#include "machine/filesystem.h"
#include "machine/perf_events.h"
#include "run/machine_parts.h"

namespace igpu {

std::function<void(int socket)> perf_opener(const std::string& sysfs_root) {
  return [sys = std::shared_ptr<const Directory>(open_root(sysfs_root))](int socket) {
    serve_perf_events(socket,
                      [&sys](const PerfEventConfig& event) { return is_type_of_collected_pmu(*sys, event.type); });
  };
}

std::shared_ptr<EarlyAccess> open_early(const MonitorOptions& options, int perf_opener) {
  std::shared_ptr<EarlyAccess> early = open_early(options);
  early->perf = remote_perf_events(perf_opener);
  return early;
}

}  // namespace igpu
