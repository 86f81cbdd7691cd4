# SPDX-License-Identifier: Apache-2.0
#
# Writes a header with the bytes of a file: cmake -DOBJECT=FILE -DHEADER=FILE -DVARIABLE=NAME [-DCOMPRESS=ON|OFF] -P embed.cmake
# With COMPRESS, NAMESize is how large the file is; the bytes are, if it is ON, a frame of zstd.
set(size_of_file "")
if(DEFINED COMPRESS)
  file(SIZE "${OBJECT}" size)
  set(size_of_file "inline constexpr std::size_t ${VARIABLE}Size = ${size};\n")
endif()
if(COMPRESS)
  file(ARCHIVE_CREATE OUTPUT "${HEADER}.zst" PATHS "${OBJECT}" FORMAT raw COMPRESSION Zstd COMPRESSION_LEVEL 9)
  set(OBJECT "${HEADER}.zst")
endif()
file(READ "${OBJECT}" bytes HEX)
string(LENGTH "${bytes}" digits)
math(EXPR size "${digits} / 2")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
file(CONFIGURE OUTPUT "${HEADER}" CONTENT [[
#pragma once

#include <array>

namespace igpu {

alignas(8) inline constexpr std::array<unsigned char, @size@> @VARIABLE@{@bytes@};
@size_of_file@
}  // namespace igpu
]] @ONLY)
