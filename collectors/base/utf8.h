// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace igpu {

// Valid UTF-8 (no surrogates, no overlong forms, at most U+10FFFF).
bool is_valid_utf8(std::string_view text);

// Appends text with every bad sequence replaced by U+FFFD and NUL by U+FFFD; plain ASCII is copied at memcpy speed.
void append_valid_utf8(std::string& out, std::string_view text);

}  // namespace igpu
