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
  fake/capture/asked_machine cli/command_line server/doctor/doctor_report cli/flights_flags level_zero/level_zero_flags cli/settings cli/start_failure
  view/stats/stats_summary view/stats/stats_table server/flights/flight_list view/format/gzip view/format/intel_gpu_top view/format/json_lines view/format/negotiation
  view/format/number view/format/openmetrics view/format/prometheus_text view/format/stats_formats server/http/connection_table server/http/exposure server/http/framing
  server/http/listen_address server/http/places server/http/query run/scan_burst server/pages/api server/pages/in_flight server/pages/index_page
  server/pages/paced_page server/pages/routes server/pages/shared_pages platform/poller server/push/queue view/query/query view/report/fixes view/report/gpu_advice
  server/self/request_metrics kernel/clients/fdinfo_text trace/job_events text/ascii text/nearest text/unicode text/wrap server/web_config/bcrypt
  server/web_config/config server/web_config/password_check server/web_config/weaker text/yaml_tree)
list(TRANSFORM program_tests REPLACE "(.+)" "${PROJECT_SOURCE_DIR}/tests/unit/\\1_test.cpp")
if(NOT TARGET doctest::doctest)
  igpu_headers(doctest::doctest doctest)
endif()
set(program_support expected_values exposition_parser paths sample_page utf8)
list(TRANSFORM program_support REPLACE "(.+)" "${PROJECT_SOURCE_DIR}/tests/support/\\1.cpp")
add_executable(windows_program_tests doctest_main.cpp ${program_tests} ${program_support})
set_property(SOURCE "${PROJECT_SOURCE_DIR}/tests/support/paths.cpp" PROPERTY COMPILE_DEFINITIONS
  "IGPU_SOURCE_DIR=\"${PROJECT_SOURCE_DIR}\";IGPU_EXPORTER_BINARY=\"$<TARGET_FILE:intel-gpu-exporter>\";IGPU_TEST_PROGRAMS=\"${CMAKE_CURRENT_BINARY_DIR}\"")
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
