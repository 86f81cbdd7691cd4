// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

// The event log of Windows; only files for Windows include this.
namespace igpu::exporter {

inline constexpr wchar_t kServiceName[] = L"intel-gpu-exporter";  // also the source in the log "Application"

// One line of the program's log; its level becomes that of the event.
bool write_to_event_log(std::string_view line);

}  // namespace igpu::exporter
