// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/options.h"

// The commands. Each returns the exit status; an exception is printed as one line and gives status 1.
namespace igpu::exporter {

int serve(const Options& options);
int list(const Options& options);
int stats(const Options& options);
int query_command(const Options& options);
int doctor(const Options& options);
int intel_gpu_top(const Options& options);  // operands: all of its words
int top_command(const Options& options);    // operands: URLs of other exporters; none: this machine
int level_zero(const Options& options);
int trace(const Options& options);
int flights(const Options& options);      // operand: a URL, or a folder; none: the exporter with the same flags
int capture(const Options& options);      // operand: the file to write
int healthcheck(const Options& options);  // of a running exporter with the same flags

int service_command(const Options& options);  // on Windows only; the first operand is what to do

// Only in the static file: what a package brings and does.
int setup_command(const Options& options);
int completion(const Options& options);  // operand: the shell
int man(const Options& options);         // operand: the command; none: the program

}  // namespace igpu::exporter
