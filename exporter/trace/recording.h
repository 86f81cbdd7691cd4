// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "trace/arguments.h"

namespace igpu::exporter {

// `trace record`. Returns the exit status, which is the command's if one was given; prints what went wrong.
int record_trace(const TraceArguments& arguments);

// The line for a recorder that did not open.
std::string explained(const JobRecorderError& error, const JobRecorderOptions& options);

}  // namespace igpu::exporter
