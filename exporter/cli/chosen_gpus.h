// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/options.h"

namespace igpu::exporter {

// Throws UsageError with the available GPUs if a GPU that --gpu chose is missing. For commands that print once; `serve`
// waits for the GPU instead.
void require_chosen_gpus(const Options& options);

}  // namespace igpu::exporter
