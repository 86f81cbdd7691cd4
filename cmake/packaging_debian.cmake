# SPDX-License-Identifier: Apache-2.0
#
# cpack reads this once for each generator. Debian's packages are one per component, each with its own summary; the
# RPM is the program alone.
if(CPACK_GENERATOR STREQUAL "DEB")
  set(CPACK_COMPONENTS_GROUPING IGNORE)
  set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")  # it would come before each description
  list(APPEND CPACK_COMPONENTS_ALL dropin)
  if(CPACK_IGPU_SHARED)
    list(APPEND CPACK_COMPONENTS_ALL runtime development python)
  endif()
endif()
