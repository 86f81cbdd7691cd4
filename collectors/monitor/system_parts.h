// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "igpu/options.h"
#include "monitor/machine_parts.h"

namespace igpu {

// The real machine, or the simulated one named by the options. Throws OptionError.
// early: access that was opened before rights were dropped; null: opened now.
std::shared_ptr<MachineParts> make_machine_parts(const MonitorOptions& options, std::shared_ptr<EarlyAccess> early);

}  // namespace igpu
