# SPDX-License-Identifier: Apache-2.0
#
# The version of this build; included before project(), so that the numbers are in one place only.
#
#   IGPU_VERSION          0.2.0: the tag v0.2.0 if it is on this commit, else the newest entry of CHANGELOG.md, which
#                         names the release in development
#   IGPU_REVISION         the output of git describe, or -DIGPU_REVISION_OVERRIDE=... for a build from a tarball
#   IGPU_PACKAGE_VERSION  0.2.0 for the tag, 0.2.0~git123.1234abc before it: dpkg and rpm both take ~ for "before"
#
# igpu_write_version_header() writes igpu/version.h into ${IGPU_GENERATED_DIR}.
set(IGPU_REVISION_OVERRIDE "" CACHE STRING "Revision to show instead of git's")
set(IGPU_REVISION "unknown")
set(IGPU_REVISION_DATE "")  # ISO 8601
get_filename_component(igpu_source "${CMAKE_CURRENT_LIST_DIR}" DIRECTORY)

file(STRINGS "${igpu_source}/CHANGELOG.md" changelog_entries REGEX "^## [0-9]+\\.[0-9]+\\.[0-9]+")
if(NOT changelog_entries)
  message(FATAL_ERROR "CHANGELOG.md has no entry \"## X.Y.Z\", which would be the version.")
endif()
list(GET changelog_entries 0 newest_entry)
string(REGEX MATCH "[0-9]+\\.[0-9]+\\.[0-9]+" IGPU_VERSION "${newest_entry}")
set(IGPU_PACKAGE_VERSION "${IGPU_VERSION}")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${igpu_source}/CHANGELOG.md")

find_package(Git QUIET)
# safe.directory: the checkout may belong to somebody else (a container, a root build).
set(igpu_git "${GIT_EXECUTABLE}" -c "safe.directory=${igpu_source}" -C "${igpu_source}")
# igpu_ask_git(VARIABLE ARGUMENT...): empty if git fails.
function(igpu_ask_git variable)
  set(answer "")
  if(GIT_FOUND)
    execute_process(COMMAND ${igpu_git} ${ARGN} OUTPUT_VARIABLE answer OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET
      RESULT_VARIABLE failed)
    if(failed)
      set(answer "")
    endif()
  endif()
  set(${variable} "${answer}" PARENT_SCOPE)
endfunction()

if(IGPU_REVISION_OVERRIDE)
  set(IGPU_REVISION "${IGPU_REVISION_OVERRIDE}")
  if(IGPU_REVISION MATCHES "^v([0-9]+\\.[0-9]+\\.[0-9]+)$")
    set(IGPU_VERSION "${CMAKE_MATCH_1}")
    set(IGPU_PACKAGE_VERSION "${IGPU_VERSION}")
  endif()
else()
  # A folder inside another project's repository has no revision of its own.
  igpu_ask_git(git_top rev-parse --show-toplevel)
  if(git_top)
    file(REAL_PATH "${git_top}" git_top)
    file(REAL_PATH "${igpu_source}" real_source)
  endif()
  if(git_top AND git_top STREQUAL real_source)
    igpu_ask_git(IGPU_REVISION describe --tags --match "v[0-9]*" --always --dirty=-modified)
    igpu_ask_git(IGPU_REVISION_DATE log -1 --format=%cI)
    igpu_ask_git(git_commits rev-list --count HEAD)
    igpu_ask_git(git_short rev-parse --short=7 HEAD)
    igpu_ask_git(git_log rev-parse --path-format=absolute --git-path logs/HEAD)
    if(IGPU_REVISION MATCHES "^v([0-9]+\\.[0-9]+\\.[0-9]+)$")
      set(IGPU_VERSION "${CMAKE_MATCH_1}")
      set(IGPU_PACKAGE_VERSION "${IGPU_VERSION}")
    else()
      set(IGPU_PACKAGE_VERSION "${IGPU_VERSION}~git${git_commits}.${git_short}")
      if(IGPU_REVISION MATCHES "-modified$")
        string(APPEND IGPU_PACKAGE_VERSION ".modified")
      endif()
    endif()
    # A commit triggers a new configure run, so that the revision follows it.
    if(git_log AND EXISTS "${git_log}")
      set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${git_log}")
    endif()
  endif()
  if(NOT IGPU_REVISION)
    set(IGPU_REVISION "unknown")
  endif()
endif()

function(igpu_write_version_header)
  string(TOLOWER "${CMAKE_CXX_COMPILER_ID}" compiler)
  string(REPLACE "gnu" "gcc" compiler "${compiler}")
  set(IGPU_COMPILER "${compiler} ${CMAKE_CXX_COMPILER_VERSION}")
  configure_file("${CMAKE_CURRENT_FUNCTION_LIST_DIR}/version.h.in" "${IGPU_GENERATED_DIR}/igpu/version.h" @ONLY)
endfunction()
