// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "cli/options.h"
#include "igpu/device.h"

namespace igpu::exporter {

// The GPUs of the machine that these options name, whichever of them --gpu chose.
std::vector<Gpu> all_gpus(const MonitorOptions& chosen);

bool has_name(const Gpu& gpu, const std::string& name);  // as --gpu takes it

// Throws UsageError with the available GPUs if a GPU that --gpu chose is not on the bus. For commands that print once;
// `serve` waits for the GPU instead.
void require_chosen_gpus(const Options& options);

}  // namespace igpu::exporter
