// SPDX-License-Identifier: Apache-2.0
// /proc/<pid>/stat and status: a process may call itself anything.
#include <cstdint>
#include <string>
#include <string_view>

#include "fuzz/fuzz_target.h"
#include "kernel/clients/process.h"

FUZZ_TARGET(process_stat) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)igpu::parse_status_uid(text);
  (void)igpu::parse_process_io(text);
  if (const auto stat = igpu::parse_process_stat(text)) {
    FUZZ_CHECK(stat->cpu.value >= 0);
    FUZZ_CHECK(stat->virtual_size.value >= 0);
    FUZZ_CHECK(text.find(stat->comm) != std::string_view::npos);
  }
  // The text as a name: it comes back as it went in, and moves no field.
  std::string line = "7 (";
  line += text;
  line += ") S 1 1 1 0 -1 0 0 0 0 0 3 4 0 0 20 0 1 0 99 1000 2 0\n";
  const auto stat = igpu::parse_process_stat(line);
  FUZZ_CHECK(stat.has_value());
  FUZZ_CHECK(stat->comm == text);
  FUZZ_CHECK(stat->start_time_ticks == 99);
  FUZZ_CHECK(stat->cpu.value == 0.07);
  return 0;
}
