// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>
#include <cstdint>
#include <string_view>

#include "igpu/reading.h"
#include "machine/status_failure.h"

// How a result of Level Zero becomes an outcome, here and nowhere else (ze_result_t of its specification).
namespace igpu {

enum class ZeResult : std::uint32_t {
  success = 0,
  device_lost = 0x70000001,
  low_power_state = 0x70000007,
  insufficient_permissions = 0x70010000,
  not_available = 0x70010001,
  dependency_unavailable = 0x70020000,
  uninitialized = 0x78000001,
  unsupported_version = 0x78000002,
  unsupported_feature = 0x78000003,
};

// call: "zesPowerGetEnergyCounter".
template <class T>
Reading<T> outcome_of_ze_result(ZeResult result, std::string_view call) {
  switch (result) {
    case ZeResult::unsupported_version:
    case ZeResult::unsupported_feature:
      return Absent{Reason::kernel, EOPNOTSUPP};
    case ZeResult::uninitialized:
    case ZeResult::dependency_unavailable:
      return Absent{Reason::kernel, ENOENT};
    case ZeResult::device_lost:
    case ZeResult::not_available:
      return Absent{Reason::kernel, ENODEV};
    case ZeResult::low_power_state:
      return Absent{Reason::suspended};
    case ZeResult::insufficient_permissions:
      return Absent{Reason::permission, EROFS};  // distinguishes it from a denial by Windows itself
    default:
      return status_failure(static_cast<std::uint32_t>(result), call);
  }
}

}  // namespace igpu
