// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "cli/options.h"
#include "igpu/capture.h"

// What `capture` and `doctor --bug` share.
namespace igpu::exporter {

// path: "-" for standard output. Throws UsageError if that is a terminal, std::runtime_error if the file cannot be
// written.
void check_capture_destination(const std::string& command, const std::string& path);

// Takes a capture, writes it, and prints what is in it. kernel_bug: CaptureRequest::kernel_bug. added: more files for
// it. Returns the exit status; throws std::runtime_error.
int write_capture(const Options& options, const std::string& path, bool kernel_bug, const CaptureFiles& added);

}  // namespace igpu::exporter
