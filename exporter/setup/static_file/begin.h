// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace igpu::exporter {

// Call first in the static file: keeps its C library and OpenSSL from loading modules of this machine's, which belong
// to another C library, and gives ncurses the terminals that the machine may not describe.
void begin_static_program();

}  // namespace igpu::exporter
