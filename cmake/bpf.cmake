# SPDX-License-Identifier: Apache-2.0
#
# BPF programs: compiled by clang, embedded as an array, loaded by libbpf.
#   IGPU_BPF  AUTO: if clang and libbpf are installed; ON: they must be; OFF: without
set(IGPU_BPF AUTO CACHE STRING "Find GPU clients with BPF: AUTO, ON or OFF")
set_property(CACHE IGPU_BPF PROPERTY STRINGS AUTO ON OFF)

set(IGPU_HAS_BPF OFF)
if(NOT IGPU_BPF STREQUAL "OFF" AND NOT WIN32)
  find_program(IGPU_BPF_CLANG NAMES clang clang-19 clang-16 clang-15 clang-14)
  find_path(IGPU_BPF_INCLUDE_DIR bpf/libbpf_version.h)
  find_library(IGPU_BPF_LIBRARY bpf)
  mark_as_advanced(IGPU_BPF_CLANG IGPU_BPF_INCLUDE_DIR IGPU_BPF_LIBRARY)
  if(IGPU_BPF_CLANG AND IGPU_BPF_INCLUDE_DIR AND IGPU_BPF_LIBRARY)
    set(IGPU_HAS_BPF ON)
  elseif(IGPU_BPF STREQUAL "ON")
    message(FATAL_ERROR "IGPU_BPF=ON needs clang and libbpf 1.1 or newer (apt install clang libbpf-dev)")
  endif()
endif()
message(STATUS "BPF: ${IGPU_HAS_BPF}")
string(REPLACE ON true IGPU_HAS_BPF_LITERAL "${IGPU_HAS_BPF}")
string(REPLACE OFF false IGPU_HAS_BPF_LITERAL "${IGPU_HAS_BPF_LITERAL}")  # in version.h

# igpu_embed_bpf(target source header variable): compiles source and writes header, which defines the array `variable`.
function(igpu_embed_bpf target source header variable)
  set(object "${CMAKE_CURRENT_BINARY_DIR}/${variable}.bpf.o")
  get_filename_component(folder "${source}" DIRECTORY)
  file(GLOB headers CONFIGURE_DEPENDS "${folder}/*.h")
  set(includes "")
  if(CMAKE_LIBRARY_ARCHITECTURE)
    set(includes -idirafter "${CMAKE_SYSROOT}/usr/include/${CMAKE_LIBRARY_ARCHITECTURE}")  # asm/types.h
  endif()
  if(CMAKE_SYSROOT)
    list(APPEND includes "--sysroot=${CMAKE_SYSROOT}")
  endif()
  add_custom_command(
    OUTPUT "${header}"
    COMMAND "${IGPU_BPF_CLANG}" -target bpf -mcpu=v3 -O2 -g -Wall -Werror
      "-ffile-prefix-map=${PROJECT_SOURCE_DIR}=." "-fdebug-compilation-dir=." ${includes} -c "${source}" -o "${object}"
    COMMAND "${CMAKE_COMMAND}" "-DOBJECT=${object}" "-DHEADER=${header}" "-DVARIABLE=${variable}" -DCOMPRESS=${IGPU_STATIC}
      -P "${PROJECT_SOURCE_DIR}/cmake/embed.cmake"
    DEPENDS "${source}" ${headers} "${PROJECT_SOURCE_DIR}/cmake/embed.cmake"
    COMMENT "Compiling BPF programs of ${variable}"
    VERBATIM)
  target_sources(${target} PRIVATE "${header}")
endfunction()
