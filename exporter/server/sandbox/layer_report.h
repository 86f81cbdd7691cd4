// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "igpu/log.h"
#include "server/sandbox/sandbox.h"

// Log lines about the sandbox that are the same on every system.
namespace igpu::exporter {

void report_off(Log& log);
std::string layers_on(const SandboxOutcomes& outcomes);  // "core_dumps,seccomp", or "nothing"
// Writes nothing if the layer is on. level: of a layer with a hint; others are logged as information.
void report_missing(Layer layer, const LayerOutcome& outcome, LogLevel level, Log& log);

}  // namespace igpu::exporter
