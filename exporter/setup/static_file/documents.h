// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace igpu::exporter {

// What a package installs beside the program, inside the static file: man pages (roff) and completions, both written
// from --help by deploy/package/describe. name is the file's: "intel-gpu-exporter-top.1", "intel-gpu-exporter.bash".
// Empty if there is none.
std::string document(std::string_view name);

// Call first in the static file: keeps its C library and OpenSSL from loading modules of this machine's, which belong
// to another C library, and gives ncurses the terminals that the machine may not describe.
void begin_static_program();

}  // namespace igpu::exporter
