// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/options.h"

// The commands. Each returns the exit status; an exception is printed as one line and gives status 1.
namespace igpu::exporter {

int serve(const Options& options);
int list(const Options& options);
int stats(const Options& options);
int doctor(const Options& options);
int healthcheck(const Options& options);  // of a running exporter with the same flags

}  // namespace igpu::exporter
