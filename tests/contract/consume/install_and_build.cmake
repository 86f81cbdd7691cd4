# SPDX-License-Identifier: Apache-2.0
#
# Installs the library into a folder of its own and builds a program there that knows nothing of this source tree.
file(REMOVE_RECURSE "${WORK}")
set(flags "")
if(COVERAGE)
  set(flags "--coverage")
endif()

function(step)
  execute_process(COMMAND ${ARGV} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()
step("${CMAKE_COMMAND}" --install "${BUILD}" --component development --prefix "${WORK}/installed")
step("${CMAKE_COMMAND}" -S "${SOURCE}" -B "${WORK}/build" "-DCMAKE_PREFIX_PATH=${WORK}/installed"
  "-DCMAKE_CXX_COMPILER=${COMPILER}" "-DCMAKE_CXX_FLAGS=${flags}")
step("${CMAKE_COMMAND}" --build "${WORK}/build")
step("${WORK}/build/consume")
