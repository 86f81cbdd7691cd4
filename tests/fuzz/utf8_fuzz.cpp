// SPDX-License-Identifier: Apache-2.0
// Label values: whatever goes in, valid UTF-8 without NUL comes out, and what was valid is unchanged.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/utf8.h"
#include "fuzz/fuzz_target.h"
#include "support/utf8.h"

FUZZ_TARGET(utf8) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::string out;
  igpu::append_valid_utf8(out, text);
  FUZZ_CHECK(igpu::test::is_valid_utf8(out));
  FUZZ_CHECK(out.find('\0') == std::string::npos);
  if (igpu::test::is_valid_utf8(text) && text.find('\0') == std::string_view::npos) FUZZ_CHECK(out == text);
  std::string again;
  igpu::append_valid_utf8(again, out);
  FUZZ_CHECK(again == out);
  return 0;
}
