// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/options.h"
#include "server/sandbox/sandbox.h"

namespace igpu::exporter {

// What `serve` needs after the start with these flags.
SandboxPlan sandbox_plan(const Options& options);

}  // namespace igpu::exporter
