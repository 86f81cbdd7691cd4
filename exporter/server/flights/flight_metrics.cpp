// SPDX-License-Identifier: Apache-2.0
#include "server/flights/flight_metrics.h"

#include <array>

namespace igpu::exporter {
namespace {

constexpr Metric<Count, 1> kFlights{"intel_gpu_exporter_flights_total",
                                    Kind::counter,
                                    "Flights that were recorded, by what caused them (docs/between-scrapes.md).",
                                    {"cause"}};
constexpr Metric<Count, 0> kFailures{"intel_gpu_exporter_flight_write_failures_total", Kind::counter,
                                     "Flights that could not be written into --flight.directory; the log has the "
                                     "reason."};
constexpr std::array<const MetricDescriptor*, 2> kFlightMetrics{&kFlights, &kFailures};

}  // namespace

std::span<const MetricDescriptor* const> FlightMetrics::metrics() { return kFlightMetrics; }

void FlightMetrics::add_to(SampleList& out) const {
  const auto counts = flights_->counts();
  for (std::size_t cause = 0; cause < counts.size(); ++cause)
    out.add(kFlights, std::span(&kFlightCauseNames[cause], 1), static_cast<double>(counts[cause]));
  if (keeper_ != nullptr) out.add(kFailures, {}, static_cast<double>(keeper_->failures()));
}

}  // namespace igpu::exporter
