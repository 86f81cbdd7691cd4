# SPDX-License-Identifier: Apache-2.0
#
# Defines prometheus-cpp::core. The package's own CMake config also requires its HTTP part, which depends on the installed
# CivetWeb and libcurl; only the data model is used here, so only that is searched. The target has the package's
# name, so a program that uses the installed igpu package gets the same one by find_package(prometheus-cpp).
find_path(PROMETHEUS_CPP_INCLUDE_DIR prometheus/metric_family.h REQUIRED)
if(IGPU_STATIC)  # the data model is in the headers; Debian has no static library
  mark_as_advanced(PROMETHEUS_CPP_INCLUDE_DIR)
  add_library(prometheus-cpp::core INTERFACE IMPORTED GLOBAL)
  set_target_properties(prometheus-cpp::core PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${PROMETHEUS_CPP_INCLUDE_DIR}")
  return()
endif()
find_library(PROMETHEUS_CPP_CORE_LIBRARY prometheus-cpp-core REQUIRED)
mark_as_advanced(PROMETHEUS_CPP_INCLUDE_DIR PROMETHEUS_CPP_CORE_LIBRARY)

add_library(prometheus-cpp::core UNKNOWN IMPORTED GLOBAL)
set_target_properties(prometheus-cpp::core PROPERTIES
  IMPORTED_LOCATION "${PROMETHEUS_CPP_CORE_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES "${PROMETHEUS_CPP_INCLUDE_DIR}")
