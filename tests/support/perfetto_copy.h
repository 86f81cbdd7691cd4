// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "trace/trace_file.h"

namespace igpu::test {

// The recording as the writer of trace record writes it.
std::string perfetto_copy(const exporter::TraceFile& file);

}  // namespace igpu::test
