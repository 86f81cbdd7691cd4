// SPDX-License-Identifier: Apache-2.0
#include <ctime>

#include "server/flights/flight_files.h"

namespace igpu::exporter {

Nanoseconds boottime_offset() {
  const auto read = [](clockid_t clock) {
    timespec time{};
    ::clock_gettime(clock, &time);
    return std::chrono::seconds(time.tv_sec) + Nanoseconds(time.tv_nsec);
  };
  // It changes only while the machine sleeps; the rest is the time between the two calls.
  return std::chrono::round<std::chrono::milliseconds>(read(CLOCK_BOOTTIME) - read(CLOCK_MONOTONIC));
}

}  // namespace igpu::exporter
