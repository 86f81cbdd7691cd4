// SPDX-License-Identifier: Apache-2.0
#include "http/web_config.h"

#include <stdexcept>

namespace igpu::exporter {

void check_web_config(const std::string& path) {
  if (path.empty()) return;
  throw std::runtime_error("--web.config.file: " + path + ": TLS and authentication are not supported yet");
}

}  // namespace igpu::exporter
