// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/options.h"

namespace igpu::exporter {

int service_command(const Options& options);  // the first operand is what to do. On Windows only

}  // namespace igpu::exporter
