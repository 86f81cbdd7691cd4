# SPDX-License-Identifier: Apache-2.0
#
# cpack reads this once for each generator. The packages are one per component: the program, and intel_gpu_top in
# /usr/bin. Debian's have their own summaries, and there the library is packaged, too.
set(CPACK_COMPONENTS_GROUPING IGNORE)
if(NOT CPACK_IGPU_SYSROOT)  # it is for every architecture
  list(APPEND CPACK_COMPONENTS_ALL dropin)
endif()
if(CPACK_GENERATOR STREQUAL "DEB")
  set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")  # it would come before each description
  if(CPACK_IGPU_SHARED)
    list(APPEND CPACK_COMPONENTS_ALL runtime development python)
  endif()
endif()
