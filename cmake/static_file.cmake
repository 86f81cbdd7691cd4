# SPDX-License-Identifier: Apache-2.0
#
# What only the static file has: terminals, man pages and completions, and the commands that print and install.
target_sources(exporter_parts PRIVATE setup/setup_command.cpp setup/static_file/begin.cpp)

# Descriptions of the usual terminals, in the form that ncurses takes from the environment.
find_program(INFOCMP_PROGRAM infocmp REQUIRED)
set(terminals "")
foreach(terminal IN ITEMS ansi linux rxvt screen screen-256color tmux tmux-256color vt100 vt220 xterm xterm-256color)
  execute_process(COMMAND "${INFOCMP_PROGRAM}" -x -Q1 "${terminal}" OUTPUT_VARIABLE description
    OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX REPLACE "[ \t\n]" "" description "${description}")
  string(REGEX MATCH "hex:[0-9A-F]+$" description "${description}")  # behind a comment
  string(APPEND terminals "    {\"${terminal}\", \"${description}\"},\n")
endforeach()
file(CONFIGURE OUTPUT "${IGPU_GENERATED_DIR}/exporter_parts/static_file/embedded/terminals.h" CONTENT [[
#pragma once

#include <array>
#include <string_view>
#include <utility>

namespace igpu::exporter {

inline constexpr auto kTerminals = std::to_array<std::pair<std::string_view, const char*>>({
@terminals@});

}  // namespace igpu::exporter
]] @ONLY)

# The documents come from --help of the same program without them.
add_executable(intel-gpu-exporter-undescribed main.cpp setup/static_file/no_documents.cpp)
igpu_target_settings(intel-gpu-exporter-undescribed)
target_link_libraries(intel-gpu-exporter-undescribed PRIVATE exporter_parts)
set(described_dir "${PROJECT_BINARY_DIR}/described")
set(documents_header "${IGPU_GENERATED_DIR}/exporter_parts/static_file/embedded/documents.h")
set(documents setup/static_file/documents.cpp "${documents_header}")
find_package(Python3 REQUIRED COMPONENTS Interpreter)
add_custom_command(OUTPUT "${documents_header}"
  COMMAND "${CMAKE_COMMAND}" -E make_directory "${described_dir}"
  COMMAND "${Python3_EXECUTABLE}" "${PROJECT_SOURCE_DIR}/deploy/package/describe"
    "$<TARGET_FILE:intel-gpu-exporter-undescribed>" "${described_dir}" -- ${CMAKE_CROSSCOMPILING_EMULATOR}
  COMMAND "${CMAKE_COMMAND}" "-DFOLDER=${described_dir}" "-DHEADER=${documents_header}"
    -P "${PROJECT_SOURCE_DIR}/cmake/documents.cmake"
  DEPENDS intel-gpu-exporter-undescribed "${PROJECT_SOURCE_DIR}/deploy/package/describe"
    "${PROJECT_SOURCE_DIR}/cmake/documents.cmake" "${PROJECT_SOURCE_DIR}/cmake/embed.cmake"
  COMMENT "Man pages and completions from --help" VERBATIM)
