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

# Suites that name nothing of Linux, as they are, but for two cases: one with paths of Linux, one with its commands.
set(program_tests
  capture/asked_machine cli/command_line cli/doctor_report cli/flights_flags cli/level_zero_flags cli/settings cli/start_failure
  cli/stats_summary cli/stats_table flights/flight_list format/gzip format/intel_gpu_top format/json_lines format/negotiation
  format/number format/openmetrics format/prometheus_text format/stats_formats http/connection_table http/exposure http/framing
  http/listen_address http/places http/query monitor/scan_burst pages/api pages/in_flight pages/index_page
  pages/paced_page pages/routes pages/shared_pages platform/poller push/queue query/query report/fixes report/gpu_advice
  self/request_metrics source/fdinfo_text source/job_events text/ascii text/nearest text/unicode text/wrap web_config/bcrypt
  web_config/config web_config/password_check web_config/weaker web_config/yaml_tree)
list(TRANSFORM program_tests REPLACE "(.+)" "${PROJECT_SOURCE_DIR}/tests/unit/\\1_test.cpp")
if(NOT TARGET doctest::doctest)
  igpu_headers(doctest::doctest doctest)
endif()
set(program_support expected_values exposition_parser paths sample_page utf8)
list(TRANSFORM program_support REPLACE "(.+)" "${PROJECT_SOURCE_DIR}/tests/support/\\1.cpp")
add_executable(windows_program_tests doctest_main.cpp ${program_tests} ${program_support})
set_property(SOURCE "${PROJECT_SOURCE_DIR}/tests/support/paths.cpp" PROPERTY COMPILE_DEFINITIONS
  "IGPU_SOURCE_DIR=\"${PROJECT_SOURCE_DIR}\";IGPU_EXPORTER_BINARY=\"$<TARGET_FILE:intel-gpu-exporter>\"")
igpu_target_settings(windows_program_tests)
target_compile_options(windows_program_tests PRIVATE -O0 -g0)
target_include_directories(windows_program_tests PRIVATE "${PROJECT_SOURCE_DIR}/collectors" "${PROJECT_SOURCE_DIR}/tests")
igpu_headers(nlohmann_json::nlohmann_json nlohmann)
find_package(ZLIB REQUIRED)
target_link_libraries(windows_program_tests PRIVATE exporter_parts doctest::doctest nlohmann_json::nlohmann_json ZLIB::ZLIB)
add_test(NAME "windows/program_units" COMMAND "${CMAKE_CURRENT_SOURCE_DIR}/in_wine"
  "$<TARGET_FILE:windows_program_tests>" --no-intro "--test-case-exclude=paths are relative*,the verdict: nothing missing*")
set_tests_properties("windows/program_units" PROPERTIES
  LABELS windows TIMEOUT 900 ENVIRONMENT "WINE=${WINE64_PROGRAM}" FAIL_REGULAR_EXPRESSION "test cases: +0 ")
