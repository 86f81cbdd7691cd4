// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "igpu/metric.h"

// Metrics that the registry writes about the scrape itself.
namespace igpu {

inline constexpr Metric<Count, 0> kDevices{"intel_gpu_exporter_devices", Kind::gauge,
                                           "Intel GPUs that were found and are watched."};
inline constexpr Metric<Flag, 1> kCollectorSuccess{"intel_gpu_scrape_collector_success",
                                                   Kind::gauge,
                                                   "Whether the collector came through this scrape without a failure; "
                                                   "what the machine lacks or forbids is no failure.",
                                                   {"collector"}};
inline constexpr Metric<Seconds, 1> kCollectorDuration{"intel_gpu_scrape_collector_duration_seconds",
                                                       Kind::gauge,
                                                       "Time the collector took in this scrape.",
                                                       {"collector"}};
inline constexpr Metric<Seconds, 0> kClientWalkDuration{"intel_gpu_exporter_client_walk_duration_seconds", Kind::gauge,
                                                        "Time the walk over /proc for DRM clients took in this scrape; "
                                                        "contained in the duration of the collector that asked first."};
inline constexpr Metric<Flag, 0> kClientWalkComplete{
    "intel_gpu_exporter_client_walk_complete", Kind::gauge,
    "Whether the walk over /proc saw every process within its time bound."};
inline constexpr Metric<Count, 0> kClientBlocksSkipped{
    "intel_gpu_exporter_client_blocks_skipped", Kind::gauge,
    "Fdinfo blocks of this scrape's walk that were truncated, hostile or without client id or address."};
inline constexpr Metric<Flag, 3> kFeatureAvailable{"intel_gpu_exporter_feature_available",
                                                   Kind::gauge,
                                                   "Whether the machine gives what a feature needs, and if not, why: "
                                                   "permission, kernel, hardware, suspended, disabled.",
                                                   {"device", "feature", "reason"}};

inline constexpr const MetricDescriptor* kRegistryMetrics[] = {&kDevices,
                                                               &kCollectorSuccess,
                                                               &kCollectorDuration,
                                                               &kClientWalkDuration,
                                                               &kClientWalkComplete,
                                                               &kClientBlocksSkipped,
                                                               &kFeatureAvailable};

}  // namespace igpu
