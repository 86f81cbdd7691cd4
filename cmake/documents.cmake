# SPDX-License-Identifier: Apache-2.0
#
# Writes the header that setup/static_file/documents.cpp includes, with what deploy/package/describe wrote, compressed:
# cmake -DFOLDER=F -DHEADER=FILE -P documents.cmake
file(GLOB_RECURSE files "${FOLDER}/*.1" "${FOLDER}/*.bash" "${FOLDER}/*.fish" "${FOLDER}/_*")
list(SORT files)
string(ASCII 1 begin)
set(all "${HEADER}.txt")
file(WRITE "${all}" "")
foreach(file IN LISTS files)
  cmake_path(GET file FILENAME name)
  file(READ "${file}" text)
  file(APPEND "${all}" "${begin}${name}\n${text}")
endforeach()
set(OBJECT "${all}")
set(VARIABLE kDocuments)
set(COMPRESS ON)
include("${CMAKE_CURRENT_LIST_DIR}/embed.cmake")
