// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace igpu::exporter {

// Unmaps the code and constants of the program and its libraries that are resident. Those that are still needed come
// back from the page cache when they are used, which takes a fraction of a millisecond; what only the start used (the
// command line, relocations, parsers) does not come back. Call when the start is complete.
void unmap_start_pages();

}  // namespace igpu::exporter
