# SPDX-License-Identifier: Apache-2.0
#
# The program under Wine, and its packages.
find_program(WINE_PROGRAM NAMES wine64 wine PATHS /usr/lib/wine REQUIRED)
find_program(IGPU_PYTHON python3 REQUIRED)
add_test(NAME "${IGPU_TEST_PREFIX}windows/program" COMMAND "${IGPU_PYTHON}" "${CMAKE_CURRENT_SOURCE_DIR}/program_test.py"
  "$<TARGET_FILE:intel-gpu-exporter>")
add_test(NAME "${IGPU_TEST_PREFIX}windows/packages" COMMAND "${IGPU_PYTHON}" "${CMAKE_CURRENT_SOURCE_DIR}/packages_test.py"
  "$<TARGET_FILE:intel-gpu-exporter>")
set_tests_properties("${IGPU_TEST_PREFIX}windows/program" "${IGPU_TEST_PREFIX}windows/packages" PROPERTIES
  LABELS windows TIMEOUT 1200 ENVIRONMENT "WINE=${WINE_PROGRAM}")
