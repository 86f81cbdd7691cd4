// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace igpu::exporter {

// Returns the bound addresses ("[::]:10068", "127.0.0.1:41234", "unix:/run/x") that other machines can reach: all
// except loopback addresses and UNIX sockets.
std::vector<std::string> reachable_from_outside(const std::vector<std::string>& bound);

}  // namespace igpu::exporter
