# SPDX-License-Identifier: Apache-2.0
#
# Installs the library into a folder of its own and builds programs there that know nothing of this source tree.
file(REMOVE_RECURSE "${WORK}")
set(flags "")
if(COVERAGE)
  set(flags "--coverage")
endif()

function(step)
  execute_process(COMMAND ${ARGV} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()
foreach(component runtime development)
  step("${CMAKE_COMMAND}" --install "${BUILD}" --component ${component} --prefix "${WORK}/installed")
endforeach()
step("${CMAKE_COMMAND}" -S "${SOURCE}" -B "${WORK}/build" "-DCMAKE_PREFIX_PATH=${WORK}/installed"
  "-DCMAKE_C_COMPILER=${C_COMPILER}" "-DCMAKE_CXX_COMPILER=${COMPILER}" "-DCMAKE_C_FLAGS=${flags}" "-DCMAKE_CXX_FLAGS=${flags}"
  "-DSHARED=${SHARED}")
step("${CMAKE_COMMAND}" --build "${WORK}/build")
step("${WORK}/build/consume")
step("${WORK}/build/c_program")
if(SHARED)
  step("${WORK}/build/one_gpu")
  step("${WORK}/build/c_program_shared")
endif()
