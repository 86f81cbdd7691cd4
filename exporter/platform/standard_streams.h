// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace igpu::exporter {

// Call first. The parent may have closed the standard descriptors: they are occupied, so that no file that is opened
// later gets their numbers and log lines. Text is written as it is on every system.
void prepare_standard_streams();

// Blocks until the text is written. False if it cannot be.
bool write_to_stderr(std::string_view text);

}  // namespace igpu::exporter
