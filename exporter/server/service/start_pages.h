// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace igpu::exporter {

// Unmaps resident code and constants of libraries, to save memory. Pages that are still needed return from the page
// cache on use, within a fraction of a millisecond; pages that only the start used (relocations, loaders of BPF
// programs and of TLS) do not return. The program's own pages stay mapped: most of them would return, some only minutes
// later, which would look like a leak. Call when the start is complete.
void unmap_start_pages();

}  // namespace igpu::exporter
