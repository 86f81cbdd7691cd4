// SPDX-License-Identifier: Apache-2.0
// trace_copy FILE: reads a recording, and writes it to standard output as trace record would, and a flight behind it.
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include "server/flights/flight_files.h"
#include "support/perfetto_copy.h"

namespace {

igpu::Flight small_flight() {
  constexpr const char* kDevice = "0000:03:00.0";
  constexpr igpu::Nanoseconds kTime = std::chrono::seconds(1);
  igpu::Flight flight;
  flight.event = {igpu::FlightCause::hang, kDevice, "job_timeout", kTime};
  flight.gpus.push_back({kDevice, {{"gt0 vcs0 busy", "ratio"}}, {{kTime, "sampled", 0}}, {0.5F}});
  flight.clients.push_back({kDevice, 17, 2101, "ffmpeg", kTime, 2 * kTime});
  return flight;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) return 1;
  std::ifstream file(arguments[1], std::ios::binary);
  const auto recorded = igpu::exporter::read_trace(std::string(std::istreambuf_iterator<char>(file), {}));
  if (!recorded) return 1;
  std::cout << igpu::test::perfetto_copy(*recorded) << igpu::exporter::flight_trace(small_flight(), {});
}
