# SPDX-License-Identifier: Apache-2.0
#
# igpu_target_settings(target): warnings, hardening and instrumentation, the same for all targets.
# They are private to the target, so that programs that use the installed library do not inherit them.

option(IGPU_WERROR "Treat warnings as errors (packagers with other compilers may turn it off)" ON)
option(IGPU_HARDENING "Compile with the hardening flags of a distribution" ON)
option(IGPU_COVERAGE "Count which lines run (gcov)" OFF)
set(IGPU_SANITIZE "" CACHE STRING "Sanitizers: address,undefined or thread; empty for none")
option(IGPU_TIDY "Run clang-tidy over every file of the library and the program" OFF)
option(IGPU_FUZZ "Fuzz targets search with libFuzzer (clang); otherwise they replay their corpus" OFF)

string(TOUPPER "${CMAKE_BUILD_TYPE}" igpu_build_type)
set(igpu_debug_build OFF)
if(igpu_build_type STREQUAL "DEBUG" OR IGPU_SANITIZE OR IGPU_COVERAGE)
  set(igpu_debug_build ON)
endif()

if((IGPU_FUZZ OR IGPU_SANITIZE) AND NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  message(FATAL_ERROR "IGPU_FUZZ and IGPU_SANITIZE need clang: it has libFuzzer, and compiles both sooner.")
endif()

if(NOT CMAKE_CXX_COMPILER_LAUNCHER AND NOT CMAKE_HOST_WIN32)
  set(CMAKE_C_COMPILER_LAUNCHER "${CMAKE_CURRENT_LIST_DIR}/launch")
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_CURRENT_LIST_DIR}/launch")
endif()

# Only speeds up the edit-build-test loop: releases are linked by the compiler's own linker.
find_program(MOLD_PROGRAM mold)
if(MOLD_PROGRAM AND igpu_debug_build AND NOT WIN32)
  add_link_options(-fuse-ld=mold)
endif()

function(igpu_target_settings target)
  set_target_properties(${target} PROPERTIES
    CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF
    CXX_VISIBILITY_PRESET hidden C_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON POSITION_INDEPENDENT_CODE ON)

  target_compile_options(${target} PRIVATE
    $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wnon-virtual-dtor -Wold-style-cast>)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # GCC 12 reports fields that designated initialisers leave at their default, and at -O2 (not without) invents
    # overlapping strings and uninitialised contents of empty optionals. Sanitizers and clang look for the real ones.
    target_compile_options(${target} PRIVATE
      $<$<COMPILE_LANGUAGE:CXX>:-Wno-missing-field-initializers -Wno-restrict -Wno-maybe-uninitialized -fpch-preprocess>)
  else()
    # ccache caches precompiled headers of clang only without their time stamps.
    target_compile_options(${target} PRIVATE
      $<$<COMPILE_LANGUAGE:CXX>:-Wno-missing-field-initializers> "$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>")
  endif()
  if(IGPU_WERROR)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Werror>)
  endif()

  # No path of the build machine in the binaries. ccache passes relative paths: the same bytes with it and without.
  if(NOT igpu_debug_build)
    file(RELATIVE_PATH source_from_build "${CMAKE_BINARY_DIR}" "${CMAKE_SOURCE_DIR}")
    string(REGEX REPLACE "/$" "" source_from_build "${source_from_build}")
    target_compile_options(${target} PRIVATE "-ffile-prefix-map=${source_from_build}=." -ffile-prefix-map=generated=./build/generated)
  endif()
  target_compile_options(${target} PRIVATE "-ffile-prefix-map=${CMAKE_SOURCE_DIR}=." "-ffile-prefix-map=${CMAKE_BINARY_DIR}=./build")
  target_compile_options(${target} PRIVATE -ffunction-sections -fdata-sections)
  target_link_options(${target} PRIVATE -Wl,--gc-sections -Wl,--as-needed)

  # A caller takes for granted which registers a function leaves alone, also if the linker takes that function from another file, which
  # was compiled with another optimisation: GCC regards inline functions of a PE file as its own.
  if(WIN32)
    target_compile_options(${target} PRIVATE -fno-ipa-ra)
  endif()
  # Windows' linker flags for random addresses and for data that is not code are defaults of mingw-w64.
  if(IGPU_HARDENING AND WIN32 AND NOT igpu_debug_build)
    target_compile_options(${target} PRIVATE -fstack-protector-strong)
    target_link_options(${target} PRIVATE -fstack-protector-strong)
    target_compile_definitions(${target} PRIVATE _FORTIFY_SOURCE=2)
  elseif(IGPU_HARDENING AND NOT igpu_debug_build AND NOT IGPU_FUZZ)
    target_compile_options(${target} PRIVATE -fno-plt -fstack-protector-strong -fstack-clash-protection)
    if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
      target_compile_options(${target} PRIVATE -fcf-protection)
    endif()
    target_compile_definitions(${target} PRIVATE _FORTIFY_SOURCE=2)
    target_link_options(${target} PRIVATE $<IF:$<BOOL:${IGPU_STATIC}>,-static-pie,-pie> -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)
  endif()
  if(igpu_debug_build OR IGPU_FUZZ)
    target_compile_definitions(${target} PRIVATE _GLIBCXX_ASSERTIONS)
  endif()

  set(sanitizers "${IGPU_SANITIZE}")
  if(sanitizers)
    # Without the check for null: AddressSanitizer also stops there, and the checks took a fifth of the compile time.
    target_compile_options(${target} PRIVATE "-fsanitize=${sanitizers}" -fno-sanitize=null -fno-sanitize-recover=all -fno-omit-frame-pointer)
    # No PIE: relocating the sanitizers' tables took a quarter of a program's start.
    target_link_options(${target} PRIVATE "-fsanitize=${sanitizers}" $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-no-pie>)
  endif()
  if(IGPU_COVERAGE)
    target_compile_options(${target} PRIVATE --coverage)
    target_link_options(${target} PRIVATE --coverage)
  endif()
endfunction()

# igpu_search(target): with IGPU_FUZZ, libFuzzer sees which branches of this library an input takes.
function(igpu_search target)
  if(IGPU_FUZZ)
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
  endif()
endfunction()

# igpu_tidy(target): with IGPU_TIDY, clang-tidy checks its sources; .clang-tidy lists the checks with reasons.
function(igpu_tidy target)
  if(IGPU_TIDY)
    find_program(CLANG_TIDY_PROGRAM clang-tidy REQUIRED)
    set_target_properties(${target} PROPERTIES CXX_CLANG_TIDY "${CLANG_TIDY_PROGRAM};--quiet")
  endif()
endfunction()
