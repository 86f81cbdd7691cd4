// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace igpu::exporter {

// Unmaps the code and constants of the libraries that are resident. Those that are still needed come back from the page
// cache when they are used, which takes a fraction of a millisecond; what only the start used (relocations, loaders of
// BPF programs and of TLS) does not come back. The program itself stays: most of it would come back, some of it only
// minutes later, which looks like a leak. Call when the start is complete.
void unmap_start_pages();

}  // namespace igpu::exporter
