// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "cli/options.h"
#include "igpu/capture.h"

namespace igpu::exporter {

// A capture on disk.

// Throws std::runtime_error, with one line that names the file, unless it is a capture that --simulate can serve.
std::shared_ptr<const CaptureFiles> load_capture(const std::string& path);

// Throws std::runtime_error where save_capture() would, as far as that is known before.
void check_destination(const std::string& path);
// The file has mode 0600 and is complete when it appears; one that is there is not replaced. Throws std::runtime_error.
void save_capture(const std::string& path, const CaptureFiles& files);

// The content of a capture's file: on Linux an archive (view/capture_file/archive.h), on Windows a text
// (view/capture_file/script.h).

extern const std::string_view kCaptureSuffix;  // ".tar.zst"

std::string bytes_of(const CaptureFiles& files);  // throws CaptureError
// Linux reads both. Throws CaptureError.
CaptureFiles files_of(std::string_view bytes);

// Tells the user how to read the file, with commands to copy.
std::string how_to_read(const std::string& path);

std::string system_release();  // "kernel 6.12.5"; "" if unknown

// What `capture` and `doctor --bug` share.

// path: "-" for standard output. Throws UsageError if that is a terminal, std::runtime_error if the file cannot be
// written.
void check_capture_destination(const std::string& command, const std::string& path);

// Takes a capture, writes it, and prints what is in it. kernel_bug: CaptureRequest::kernel_bug. added: more files for
// it. Returns the exit status; throws std::runtime_error.
int write_capture(const Options& options, const std::string& path, bool kernel_bug, const CaptureFiles& added);

}  // namespace igpu::exporter
