// SPDX-License-Identifier: Apache-2.0
#include "platform/windows_headers.h"
#include "server/service/start_pages.h"

namespace igpu::exporter {

// What is still needed comes back from the system's cache.
void unmap_start_pages() { (void)::SetProcessWorkingSetSize(::GetCurrentProcess(), ~SIZE_T{0}, ~SIZE_T{0}); }

}  // namespace igpu::exporter
