// SPDX-License-Identifier: Apache-2.0
#include "push/host_name.h"

#include <unistd.h>

#include <array>

namespace igpu::exporter {

std::string own_host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0 || name.front() == '\0') return "unknown";
  return name.data();
}

}  // namespace igpu::exporter
