// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "igpu/capture.h"

// A capture on disk.
namespace igpu::exporter {

// Throws std::runtime_error, with one line that names the file, unless it is a capture that --simulate can serve.
std::shared_ptr<const CaptureFiles> load_capture(const std::string& path);

// Throws std::runtime_error where save_capture() would, as far as that is known before.
void check_destination(const std::string& path);
// The file has mode 0600 and is complete when it appears; one that is there is not replaced. Throws std::runtime_error.
void save_capture(const std::string& path, const CaptureFiles& files);

}  // namespace igpu::exporter
