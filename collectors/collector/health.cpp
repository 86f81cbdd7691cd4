// SPDX-License-Identifier: Apache-2.0
#include "collector/health.h"

#include <array>

namespace igpu {
namespace {

constexpr std::array<const MetricDescriptor*, 0> kMetrics{};
constexpr std::array<const FeatureDescriptor*, 0> kFeatures{};

}  // namespace

constexpr CollectorInfo HealthCollector::kInfo{.name = "health",
                                               .help = "Hangs, resets and errors of each GPU, and who caused them.",
                                               .in_snapshots = false,
                                               .metrics = kMetrics,
                                               .features = kFeatures};

std::unique_ptr<MachineCollector> HealthCollector::create(const MachineContext& context) {
  return std::make_unique<HealthCollector>(context.machine);
}

// Parts that read files: parts_.push_back(std::make_unique<HealthFiles>(machine));
HealthCollector::HealthCollector(Machine&) {}

void HealthCollector::collect(MachinePass& pass, SampleSink& out) {
  const auto gpus = pass.gpus();
  const HealthScrape scrape{pass.now(), *gpus, pass.asleep()};
  for (const auto& part : parts_) part->collect(scrape, out);
}

}  // namespace igpu
