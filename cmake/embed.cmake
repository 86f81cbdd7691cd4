# SPDX-License-Identifier: Apache-2.0
#
# Writes a header with the bytes of a file: cmake -DOBJECT=FILE -DHEADER=FILE -DVARIABLE=NAME -P embed.cmake
file(READ "${OBJECT}" bytes HEX)
string(LENGTH "${bytes}" digits)
math(EXPR size "${digits} / 2")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
file(CONFIGURE OUTPUT "${HEADER}" CONTENT [[
#pragma once

#include <array>

namespace igpu {

alignas(8) inline constexpr std::array<unsigned char, @size@> @VARIABLE@{@bytes@};

}  // namespace igpu
]] @ONLY)
