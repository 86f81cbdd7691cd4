// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "platform/windows_headers.h"

namespace igpu::exporter {

// service/signals.h is about Ctrl-C, the console's end and the service manager's wish here: all of them come this way.
HANDLE termination_event();  // signalled for good after the first request
void request_termination(int signal);

}  // namespace igpu::exporter
