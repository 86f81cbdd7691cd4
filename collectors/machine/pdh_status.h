// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>
#include <cstdint>
#include <string_view>

#include "igpu/reading.h"
#include "machine/status_failure.h"

// How a status of Windows' performance counters becomes an outcome, here and nowhere else (pdhmsg.h).
namespace igpu {

enum class PdhStatus : std::uint32_t {
  success = 0,
  system_access_denied = 5,  // ERROR_ACCESS_DENIED: PDH also returns Windows' own statuses
  no_instance = 0x800007d1,
  more_data = 0x800007d2,
  no_data = 0x800007d5,
  no_object = 0xc0000bb8,
  no_counter = 0xc0000bb9,
  access_denied = 0xc0000bdb,
};

// call: "PdhCollectQueryData".
template <class T>
Reading<T> outcome_of_pdh_status(PdhStatus status, std::string_view call) {
  switch (status) {
    case PdhStatus::no_object:
    case PdhStatus::no_counter:
      return Absent{Reason::kernel, EOPNOTSUPP};
    case PdhStatus::access_denied:
    case PdhStatus::system_access_denied:
      return Absent{Reason::permission, EPERM};
    default:
      return status_failure(static_cast<std::uint32_t>(status), call);
  }
}

}  // namespace igpu
