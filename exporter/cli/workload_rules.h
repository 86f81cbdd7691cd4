// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "igpu/log.h"
#include "igpu/options.h"

namespace igpu::exporter {

// The file of --workload.rules; "" for none.
std::string workload_rules_file(const MonitorOptions& options);

// The options with the rules of that file. Throws std::runtime_error with one clear line if it cannot be read or is
// wrong. log must outlive the monitor that is made with them.
MonitorOptions with_workload_rules(MonitorOptions options, Log& log);

}  // namespace igpu::exporter
