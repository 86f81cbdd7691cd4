// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>

#include "igpu/flight.h"
#include "server/flights/flight_writer.h"
#include "server/self/self_metrics.h"

namespace igpu::exporter {

// How many flights there were, by cause. Thread-safe.
class FlightMetrics final : public SelfMetrics {
 public:
  // keeper: null if flights are kept in memory only; must outlive this.
  FlightMetrics(std::shared_ptr<const Flights> flights, const FlightKeeper* keeper)
      : flights_(std::move(flights)), keeper_(keeper) {}

  static std::span<const MetricDescriptor* const> metrics();
  void add_to(SampleList& out) const override;

 private:
  const std::shared_ptr<const Flights> flights_;
  const FlightKeeper* const keeper_;
};

}  // namespace igpu::exporter
