// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace igpu::exporter {

// --web.config.file: TLS and authentication. Serving in the clear what somebody asked to protect would be worse than
// not serving, so a file is refused as long as it cannot be honoured. Throws std::runtime_error with one clear line.
void check_web_config(const std::string& path);

}  // namespace igpu::exporter
