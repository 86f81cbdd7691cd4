// SPDX-License-Identifier: Apache-2.0
// events/SYSTEM/EVENT/format of tracefs: what is accepted has a number and named fields within a record's reach.
#include <cstdint>
#include <string_view>

#include "fuzz/fuzz_target.h"
#include "machine/tracepoints.h"

FUZZ_TARGET(trace_format) {
  const auto format = igpu::parse_trace_format({reinterpret_cast<const char*>(data), size});
  if (!format) return 0;
  FUZZ_CHECK(!format->name.empty());
  FUZZ_CHECK(format->id <= 0xffff);
  FUZZ_CHECK(!format->fields.empty());
  for (const igpu::TraceField& field : format->fields) {
    FUZZ_CHECK(!field.name.empty());
    FUZZ_CHECK(field.name.find(' ') == std::string_view::npos);
    FUZZ_CHECK(format->find(field.name) != nullptr);
  }
  return 0;
}
