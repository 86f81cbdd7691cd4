// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "collector/collector.h"
#include "collector/sampling/flight_recorder.h"
#include "collector/sampling/sampler.h"

namespace igpu {

// Values from between the scrapes: the sampling thread (sampling/) reads the GPUs many times a second, and a scrape
// reports sums and extremes of its samples.
class SamplesCollector final : public MachineCollector {
 public:
  static const CollectorInfo kInfo;

  static std::unique_ptr<MachineCollector> create(const MachineContext& context);
  // Creates no thread: the caller must call tick() of sampler().
  SamplesCollector(Machine& machine, const sampling::SamplerOptions& options)
      : sampler_(std::make_shared<sampling::Sampler>(machine, options)) {}

  void collect(MachinePass& pass, SampleSink& out) override;
  sampling::Sampler& sampler() { return *sampler_; }

 private:
  const std::shared_ptr<sampling::Sampler> sampler_;  // pages of the last scrape may outlive the collector
  std::unique_ptr<sampling::SamplingThread> thread_;
  std::shared_ptr<sampling::FlightRecorder> recorder_;  // null: no flight recorder
  std::uint64_t missed_ = 0;                            // as last reported
};

}  // namespace igpu
