# SPDX-License-Identifier: Apache-2.0
#
# Defines civetweb::civetweb: CivetWeb's request parser.
#
#   -DCIVETWEB_SOURCE_DIR=FOLDER   compile the source in FOLDER
#   (nothing)                      compile the source that third_party/fetch-civetweb fetches
#
# civetweb_parser.c compiles civetweb.c unmodified. The linker drops every function that is not called: only the parser is
# linked, not the server. Files, CGI programs, caching and TLS are not even compiled.
set(CIVETWEB_SOURCE_DIR "" CACHE PATH "CivetWeb's source; empty: fetched from Debian's source package")

set(source_dir "${CIVETWEB_SOURCE_DIR}")
if(NOT source_dir)
  execute_process(COMMAND "${CMAKE_CURRENT_LIST_DIR}/fetch-civetweb"
    OUTPUT_VARIABLE source_dir OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "CivetWeb's source is not here and could not be fetched (see above).")
  endif()
endif()
if(NOT EXISTS "${source_dir}/src/civetweb.c")
  message(FATAL_ERROR "CIVETWEB_SOURCE_DIR: no src/civetweb.c in ${source_dir}")
endif()

find_package(Threads REQUIRED)
add_library(civetweb STATIC "${CMAKE_CURRENT_LIST_DIR}/civetweb_parser.c")
add_library(civetweb::civetweb ALIAS civetweb)
igpu_target_settings(civetweb)
target_compile_features(civetweb PRIVATE c_std_11)
target_compile_options(civetweb PRIVATE -w -ffunction-sections -fdata-sections)
target_link_options(civetweb INTERFACE -Wl,--gc-sections)
if(CMAKE_BUILD_TYPE STREQUAL "RelWithDebInfo")
  # The same source gives the same bytes: the output contains neither the source folder nor the build date.
  target_compile_options(civetweb PRIVATE "-ffile-prefix-map=${source_dir}=civetweb" "-D__DATE__=\"\"" "-D__TIME__=\"\"")
endif()
target_compile_definitions(civetweb PRIVATE NO_FILES NO_CGI NO_CACHING NO_POPEN NO_SSL)
target_include_directories(civetweb SYSTEM PUBLIC "${source_dir}/include")
target_include_directories(civetweb PUBLIC "${CMAKE_CURRENT_LIST_DIR}")
target_include_directories(civetweb PRIVATE "${source_dir}/src")
target_link_libraries(civetweb PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
if(WIN32)
  target_link_libraries(civetweb PRIVATE ws2_32)
endif()
