// SPDX-License-Identifier: Apache-2.0
// Number scanners beside the C library's, which take more: what ours take, theirs take with the same value.
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/scan.h"
#include "fuzz/fuzz_target.h"

FUZZ_TARGET(sysfs_number) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string copy(igpu::trim(text));
  if (const auto value = igpu::scan_u64(text)) {
    errno = 0;
    FUZZ_CHECK(std::strtoull(copy.c_str(), nullptr, 10) == *value && errno == 0);
    FUZZ_CHECK(copy.find_first_not_of("0123456789") == std::string::npos);
  }
  if (const auto value = igpu::scan_i64(text)) {
    errno = 0;
    FUZZ_CHECK(std::strtoll(copy.c_str(), nullptr, 10) == *value && errno == 0);
  }
  if (const auto value = igpu::scan_hex(text)) {
    errno = 0;
    FUZZ_CHECK(std::strtoull(copy.c_str(), nullptr, 16) == *value && errno == 0);
  }
  if (const auto value = igpu::scan_double(text)) FUZZ_CHECK(std::isfinite(*value));
  std::string_view rest = text;
  std::size_t lines = 0;
  while (!rest.empty()) {
    (void)igpu::take_line(rest);
    FUZZ_CHECK(++lines <= size);
  }
  return 0;
}
