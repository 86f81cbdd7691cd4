// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cli/options.h"

// The commands. Each returns the exit status; an exception is printed as one line and gives status 1.
namespace igpu::exporter {

int serve(const Options& options);
int list(const Options& options);
int stats(const Options& options);
int doctor(const Options& options);
// urls: other exporters; none: this machine
int top_command(const Options& options, const std::vector<std::string>& urls);
// arguments: what follows the word level-zero
int level_zero(const Options& options, const std::vector<std::string>& arguments);
// arguments: what follows the word trace
int trace(const Options& options, const std::vector<std::string>& arguments);
// arguments: the file to write
int capture(const Options& options, const std::vector<std::string>& arguments);
int healthcheck(const Options& options);  // of a running exporter with the same flags

}  // namespace igpu::exporter
