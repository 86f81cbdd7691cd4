// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "platform/windows_headers.h"

namespace igpu::exporter {

// The source of platform/signals.h on Windows: Ctrl-C, the end of the console and requests of the service manager.
HANDLE termination_event();  // stays signalled after the first request
void request_termination(int signal);

}  // namespace igpu::exporter
