// SPDX-License-Identifier: Apache-2.0
#include "server/flights/flight_files.h"

namespace igpu::exporter {

Nanoseconds boottime_offset() { return Nanoseconds(0); }  // the library's clock is the only one here

}  // namespace igpu::exporter
