// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace igpu {

// Whether all bytes are 0x01..0x7f.
bool is_plain_ascii(std::string_view text);

// Appends text as valid UTF-8 (no surrogates, no overlong forms, at most U+10FFFF): every bad sequence and every NUL is
// replaced by U+FFFD. Plain ASCII is copied at memcpy speed.
void append_valid_utf8(std::string& out, std::string_view text);

}  // namespace igpu
