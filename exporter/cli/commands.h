// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/options.h"

// The commands. Each returns the exit status; what they throw is shown as one line and ends in status 1.
namespace igpu::exporter {

int serve(const Options& options);
int list(const Options& options);
int stats(const Options& options);
int doctor(const Options& options);
int healthcheck(const Options& options);  // of the exporter that serves with the same flags

}  // namespace igpu::exporter
