# SPDX-License-Identifier: Apache-2.0
#
# Writes igpu/version.h into ${IGPU_GENERATED_DIR}. The version is the one of project(); the revision is git's, or
# -DIGPU_REVISION_OVERRIDE=... for a build from a tarball.
set(IGPU_REVISION_OVERRIDE "" CACHE STRING "Revision to show instead of git's")
set(IGPU_REVISION "unknown")
find_package(Git QUIET)
if(IGPU_REVISION_OVERRIDE)
  set(IGPU_REVISION "${IGPU_REVISION_OVERRIDE}")
elseif(GIT_FOUND)
  # safe.directory: the checkout may belong to somebody else (a container, a root build).
  set(igpu_git "${GIT_EXECUTABLE}" -c "safe.directory=${PROJECT_SOURCE_DIR}" -C "${PROJECT_SOURCE_DIR}")
  execute_process(COMMAND ${igpu_git} describe --tags --always --dirty=-modified
    OUTPUT_VARIABLE revision OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
  execute_process(COMMAND ${igpu_git} rev-parse --path-format=absolute --git-path logs/HEAD
    OUTPUT_VARIABLE git_log OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(NOT failed AND revision)
    set(IGPU_REVISION "${revision}")
  endif()
  # A commit configures anew, so that the revision follows it.
  if(git_log AND EXISTS "${git_log}")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${git_log}")
  endif()
endif()
string(TOLOWER "${CMAKE_CXX_COMPILER_ID}" compiler)
string(REPLACE "gnu" "gcc" compiler "${compiler}")
set(IGPU_COMPILER "${compiler} ${CMAKE_CXX_COMPILER_VERSION}")

set(IGPU_GENERATED_DIR "${PROJECT_BINARY_DIR}/generated")
configure_file("${CMAKE_CURRENT_LIST_DIR}/version.h.in" "${IGPU_GENERATED_DIR}/igpu/version.h" @ONLY)
