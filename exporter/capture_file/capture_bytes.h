// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "igpu/capture.h"

// What a capture's file holds: on Linux an archive (capture_file/archive.h), on Windows a text (capture_file/script.h).
namespace igpu::exporter {

extern const std::string_view kCaptureSuffix;  // ".tar.zst"

std::string bytes_of(const CaptureFiles& files);  // throws ArchiveError
// Linux reads both. Throws ArchiveError and CaptureError.
CaptureFiles files_of(std::string_view bytes);

// How a person reads it, with lines to copy.
std::string how_to_read(const std::string& path);

std::string system_release();  // "kernel 6.12.5"; "" if unknown

}  // namespace igpu::exporter
