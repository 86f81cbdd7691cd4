// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "igpu/options.h"
#include "monitor/machine_parts.h"

namespace igpu {

// The real machine, or the simulated one that the options name. Throws OptionError.
// early: null to open it now.
std::shared_ptr<MachineParts> make_machine_parts(const MonitorOptions& options, std::shared_ptr<EarlyAccess> early);

}  // namespace igpu
