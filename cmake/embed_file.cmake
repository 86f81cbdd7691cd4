# SPDX-License-Identifier: Apache-2.0
#
# igpu_embed(target file header variable): `header` defines the array igpu::`variable` with the bytes of `file`.
function(igpu_embed target file header variable)
  set(folder "${IGPU_GENERATED_DIR}/${target}")
  add_custom_command(OUTPUT "${folder}/${header}"
    COMMAND "${CMAKE_COMMAND}" "-DOBJECT=${file}" "-DHEADER=${folder}/${header}" "-DVARIABLE=${variable}"
      -P "${PROJECT_SOURCE_DIR}/cmake/embed.cmake"
    DEPENDS "${file}" "${PROJECT_SOURCE_DIR}/cmake/embed.cmake" VERBATIM)
  target_sources(${target} PRIVATE "${folder}/${header}")
  target_include_directories(${target} PRIVATE "${folder}")
endfunction()
