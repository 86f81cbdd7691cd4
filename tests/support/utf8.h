// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace igpu::test {

// No surrogates, no overlong forms, at most U+10FFFF. NUL is valid.
bool is_valid_utf8(std::string_view text);

}  // namespace igpu::test
