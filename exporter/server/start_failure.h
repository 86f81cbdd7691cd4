// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <string>

#include "platform/own_process.h"

namespace igpu::exporter {

// The error's message; if memory or threads were exhausted, also which of them, the limit that applies, and a hint.
std::string explained(const std::exception& error, const ProcessLimits& limits);

}  // namespace igpu::exporter
