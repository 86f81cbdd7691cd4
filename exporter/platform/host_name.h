// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace igpu::exporter {

// The name of this machine or container, as gethostname(2) has it; "unknown" if it has none.
std::string own_host_name();

}  // namespace igpu::exporter
