// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "igpu/capture.h"

// A capture of Windows as a text, which its owner can read before it is sent: it has answers and no files. The tests'
// own gdi32 answers by it (tests/windows/fake_gdi32.cpp).
//
//   intel-gpu-exporter capture, format 1     the lines of the file "capture"
//   # what was left out
//   pass 1                                   and then its index
namespace igpu::exporter {

bool is_script(std::string_view bytes);

// Contains the files "capture" and "left-out" and the indexes; leaves out all others.
std::string script_of(const CaptureFiles& files);

// Throws CaptureError. Lines may end as Windows' do.
CaptureFiles files_of_script(std::string_view text);

}  // namespace igpu::exporter
