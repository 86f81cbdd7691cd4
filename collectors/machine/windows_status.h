// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>

#include "base/scan.h"
#include "igpu/reading.h"

// How a status of the Windows kernel becomes an outcome, here and nowhere else (ntstatus.h).
namespace igpu {

// The failure of a call whose status has no outcome of its own; call: "D3DKMTQueryStatistics(node)".
inline Failure status_failure(std::uint32_t status, std::string_view call) {
  return {std::make_error_code(std::errc::io_error), std::string(call) + ": status 0x" + hexadecimal(status)};
}

enum class NtStatus : std::uint32_t {
  success = 0,
  not_implemented = 0xc0000002,
  invalid_info_class = 0xc0000003,
  invalid_handle = 0xc0000008,
  invalid_parameter = 0xc000000d,
  no_such_device = 0xc000000e,
  access_denied = 0xc0000022,
  buffer_too_small = 0xc0000023,
  not_supported = 0xc00000bb,
  device_does_not_exist = 0xc00000c0,
  device_removed = 0xc00002b6,
};

// call: "D3DKMTQueryStatistics(node)".
template <class T>
Reading<T> outcome_of_status(NtStatus status, std::string_view call) {
  switch (status) {
    case NtStatus::not_supported:
    case NtStatus::not_implemented:
    case NtStatus::invalid_info_class:
    case NtStatus::invalid_parameter: return Absent{Reason::kernel, EOPNOTSUPP};
    case NtStatus::invalid_handle:
    case NtStatus::no_such_device:
    case NtStatus::device_does_not_exist:
    case NtStatus::device_removed: return Absent{Reason::kernel, ENODEV};
    case NtStatus::access_denied: return Absent{Reason::permission, EACCES};
    default: return status_failure(static_cast<std::uint32_t>(status), call);
  }
}

// How a status of Windows' performance counters becomes an outcome, here and nowhere else (pdhmsg.h).

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
    case PdhStatus::no_counter: return Absent{Reason::kernel, EOPNOTSUPP};
    case PdhStatus::access_denied:
    case PdhStatus::system_access_denied: return Absent{Reason::permission, EPERM};
    default: return status_failure(static_cast<std::uint32_t>(status), call);
  }
}

}  // namespace igpu
