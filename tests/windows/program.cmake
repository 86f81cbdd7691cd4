# SPDX-License-Identifier: Apache-2.0
#
# The program under Wine, and its packages.
find_program(WINE64_PROGRAM NAMES wine64 wine PATHS /usr/lib/wine REQUIRED)
find_program(IGPU_PYTHON python3 REQUIRED)
add_test(NAME "windows/program" COMMAND "${IGPU_PYTHON}" "${CMAKE_CURRENT_SOURCE_DIR}/program_test.py"
  "$<TARGET_FILE:intel-gpu-exporter>")
add_test(NAME "windows/packages" COMMAND "${IGPU_PYTHON}" "${CMAKE_CURRENT_SOURCE_DIR}/packages_test.py"
  "$<TARGET_FILE:intel-gpu-exporter>")
set_tests_properties("windows/program" "windows/packages" PROPERTIES
  LABELS windows TIMEOUT 1200 ENVIRONMENT "WINE=${WINE64_PROGRAM}")

# Suites of the program that name nothing of Linux, as they are, but for one case with paths of Linux.
set(program_tests
  cli/command_line cli/settings cli/stats_summary format/gzip format/negotiation http/connection_table http/exposure http/framing
  http/listen_address http/places http/query pages/in_flight platform/poller report/fixes
  self/request_metrics text/ascii text/nearest text/unicode text/wrap web_config/bcrypt web_config/config web_config/eks_blowfish
  web_config/password_check web_config/token_bucket web_config/weaker web_config/yaml_tree)
list(TRANSFORM program_tests REPLACE "(.+)" "${PROJECT_SOURCE_DIR}/tests/unit/\\1_test.cpp")
if(NOT TARGET doctest::doctest)
  igpu_headers(doctest::doctest doctest)
endif()
add_executable(windows_program_tests doctest_main.cpp ${program_tests})
igpu_target_settings(windows_program_tests)
target_compile_options(windows_program_tests PRIVATE -O0 -g0)
target_include_directories(windows_program_tests PRIVATE "${PROJECT_SOURCE_DIR}/collectors" "${PROJECT_SOURCE_DIR}/tests")
find_package(ZLIB REQUIRED)
target_link_libraries(windows_program_tests PRIVATE exporter_parts doctest::doctest ZLIB::ZLIB)
add_test(NAME "windows/program_units" COMMAND "${CMAKE_CURRENT_SOURCE_DIR}/in_wine"
  "$<TARGET_FILE:windows_program_tests>" --no-intro "--test-case-exclude=paths are relative*")
set_tests_properties("windows/program_units" PROPERTIES
  LABELS windows TIMEOUT 900 ENVIRONMENT "WINE=${WINE64_PROGRAM}" FAIL_REGULAR_EXPRESSION "test cases: +0 ")
