// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "igpu/capture.h"

// A capture on disk.
namespace igpu::exporter {

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

}  // namespace igpu::exporter
