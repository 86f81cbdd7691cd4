// SPDX-License-Identifier: Apache-2.0
// An event log of any content, with a header that is mostly right: what is read from it is what its CSV has. The first
// byte says whether the records have memory; 2: the input is the whole file.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "fuzz/fuzz_target.h"
#include "level_zero/report.h"
#include "level_zero/tracker/log_layout.h"

using namespace igpu::exporter;
using namespace igpu::level_zero;

FUZZ_TARGET(level_zero_log) {
  if (size == 0) return 0;
  const bool whole = data[0] == 2;
  std::vector<std::byte> log(whole ? 0 : sizeof(LogHeader));
  if (!whole) {
    LogHeader header = {};
    header.magic = kLogMagic;
    header.version = kLogVersion;
    header.event_bytes = static_cast<std::uint32_t>(sizeof(LogEvent) + (data[0] % 2 == 1 ? sizeof(LogMemory) : 0));
    std::memcpy(log.data(), &header, sizeof header);
  }
  const auto* bytes = reinterpret_cast<const std::byte*>(data);
  log.insert(log.end(), bytes + 1, bytes + size);
  const auto rows = read_log(log);
  std::stringstream csv;
  FUZZ_CHECK(write_csv(log, csv) == rows.has_value());
  std::ostringstream lines;
  FUZZ_CHECK(write_call_lines(log, lines) == rows.has_value());
  FUZZ_CHECK(rows || whole);
  if (!rows) return 0;
  const auto again = read_csv(csv.str());
  FUZZ_CHECK(again && again->unreadable == 0);
  FUZZ_CHECK(again->rows.size() == rows->rows.size());
  for (std::size_t i = 0; i < rows->rows.size(); ++i) {
    const Row &one = rows->rows[i], &other = again->rows[i];
    FUZZ_CHECK(rows->function(one) == again->function(other));
    FUZZ_CHECK(one.counts == other.counts && one.total_bytes == other.total_bytes);
    FUZZ_CHECK(one.size == other.size && one.resident_change == other.resident_change);
  }
  return 0;
}
