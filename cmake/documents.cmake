# SPDX-License-Identifier: Apache-2.0
#
# Writes the source that defines documents() from what deploy/package/describe wrote: cmake -DFOLDER=F -DOUTPUT=FILE -P
file(GLOB_RECURSE files "${FOLDER}/*.1" "${FOLDER}/*.bash" "${FOLDER}/*.fish" "${FOLDER}/_*")
list(SORT files)
file(WRITE "${OUTPUT}" "#include \"static_file/documents.h\"\n\n#include <array>\n\nnamespace igpu::exporter {\n\n"
  "constexpr auto kDocuments = std::to_array<Document>({\n")
foreach(file IN LISTS files)
  cmake_path(GET file FILENAME name)
  file(READ "${file}" text)
  file(APPEND "${OUTPUT}" "{\"${name}\", R\"document(${text})document\"},\n")
endforeach()
file(APPEND "${OUTPUT}" "});\n\nstd::span<const Document> documents() { return kDocuments; }\n\n}  // namespace igpu::exporter\n")
