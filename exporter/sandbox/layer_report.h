// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "igpu/log.h"
#include "sandbox/sandbox.h"

// What the log says of the sandbox on every system.
namespace igpu::exporter {

void report_off(Log& log);
std::string layers_on(const SandboxOutcomes& outcomes);  // "core_dumps,seccomp", or "nothing"
// Nothing, if it is on. level: if something can be done about it.
void report_missing(Layer layer, const LayerOutcome& outcome, LogLevel level, Log& log);

}  // namespace igpu::exporter
