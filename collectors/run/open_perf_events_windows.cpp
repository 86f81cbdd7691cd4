// SPDX-License-Identifier: Apache-2.0
#include "igpu/job_recorder.h"
#include "igpu/monitor.h"

// There are no perf events, and no events of jobs.
namespace igpu {

std::function<void(int socket)> perf_opener(const std::string& /*sysfs_root*/) {
  return [](int) {};
}

std::shared_ptr<EarlyAccess> open_early(const MonitorOptions& options, int /*perf_opener*/) {
  return open_early(options);
}

std::vector<std::string_view> job_event_names() { return {}; }

}  // namespace igpu
