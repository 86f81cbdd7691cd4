// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "trace/trace_arguments.h"

namespace igpu::exporter {

// Runs `trace record`. Prints errors. Returns the exit status; that of the recorded command if there is one.
int record_trace(const TraceArguments& arguments);

// The error message for a recorder that could not be opened.
std::string explained(const JobRecorderError& error, const JobRecorderOptions& options);

}  // namespace igpu::exporter
