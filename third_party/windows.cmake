# SPDX-License-Identifier: Apache-2.0
#
# What a build for Windows takes from elsewhere: libraries that are headers only from this machine, one folder each so that no header
# of Linux is found beside them, and, for the program, those that fetch-windows-libraries compiles.
#   -DIGPU_WINDOWS_LIBRARIES=FOLDER   with lib and include: OpenSSL, libyaml, libdeflate, libxcrypt's bcrypt
set(IGPU_WINDOWS_LIBRARIES "" CACHE PATH "OpenSSL, libyaml, libdeflate and libxcrypt's bcrypt for Windows; empty: fetched from Debian's source packages")

# igpu_headers(TARGET FOLDER): a target of the headers in FOLDER below the machine's include folder.
function(igpu_headers target folder)
  find_path(${folder}_ON_MACHINE "${folder}" PATHS /usr/include /usr/local/include NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH REQUIRED)
  mark_as_advanced(${folder}_ON_MACHINE)
  set(headers "${PROJECT_BINARY_DIR}/headers/${folder}")
  file(MAKE_DIRECTORY "${headers}")
  file(CREATE_LINK "${${folder}_ON_MACHINE}/${folder}" "${headers}/${folder}" SYMBOLIC)
  add_library(${target} INTERFACE IMPORTED GLOBAL)
  set_target_properties(${target} PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${headers}")
endfunction()

igpu_headers(prometheus-cpp::core prometheus)  # of which the data model is used, which is in the headers
if(IGPU_EXPORTER)
  igpu_headers(CLI11::CLI11 CLI)
  set(libraries "${IGPU_WINDOWS_LIBRARIES}")
  if(NOT libraries)
    execute_process(COMMAND "${CMAKE_CURRENT_LIST_DIR}/fetch-windows-libraries"
      OUTPUT_VARIABLE libraries OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed)
    if(failed)
      message(FATAL_ERROR "OpenSSL, libyaml, libdeflate and libxcrypt's bcrypt for Windows are not here and could not be fetched (see above).")
    endif()
  endif()
  list(APPEND CMAKE_FIND_ROOT_PATH "${libraries}")
  set(CMAKE_FIND_ROOT_PATH "${CMAKE_FIND_ROOT_PATH}" PARENT_SCOPE)
  set(OPENSSL_USE_STATIC_LIBS ON PARENT_SCOPE)
endif()
