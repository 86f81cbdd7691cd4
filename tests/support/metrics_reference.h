// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace igpu::test {

// METRICS.md: every metric, option and feature, from their descriptors.
std::string metrics_reference();

}  // namespace igpu::test
