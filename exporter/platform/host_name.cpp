// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "platform/own_process.h"
#include "platform/sockets.h"
#ifndef _WIN32
#include <unistd.h>
#endif

namespace igpu::exporter {

std::string own_host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), 255) != 0 || name.front() == '\0') return "unknown";
  return name.data();
}

}  // namespace igpu::exporter
