// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/options.h"

namespace igpu::exporter {

// Throws UsageError, naming the GPUs that are there, if one that --gpu chose is not. `serve` waits for it, but a
// command that answers once has nothing to wait for.
void require_chosen_gpus(const Options& options);

}  // namespace igpu::exporter
