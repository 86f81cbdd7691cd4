// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "igpu/options.h"

namespace igpu::exporter {

// Whether collector samples is on, which has the flight recorder.
bool has_flight_recorder(const MonitorOptions& options);

}  // namespace igpu::exporter
