// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "igpu/capture.h"

// The content of a capture's file: on Linux an archive (view/capture_file/archive.h), on Windows a text
// (view/capture_file/script.h).
namespace igpu::exporter {

extern const std::string_view kCaptureSuffix;  // ".tar.zst"

std::string bytes_of(const CaptureFiles& files);  // throws CaptureError
// Linux reads both. Throws CaptureError.
CaptureFiles files_of(std::string_view bytes);

// Tells the user how to read the file, with commands to copy.
std::string how_to_read(const std::string& path);

std::string system_release();  // "kernel 6.12.5"; "" if unknown

}  // namespace igpu::exporter
