// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <iosfwd>
#include <span>

namespace igpu::exporter {

// An event log as one line for each call, with the fields that the System Resource Tracker logs, and at the end the
// growth of resident memory by kind, which that tool takes for leaks. False if it is not a log.
bool write_call_lines(std::span<const std::byte> log, std::ostream& out);

}  // namespace igpu::exporter
