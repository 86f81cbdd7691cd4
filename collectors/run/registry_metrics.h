// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collector/collector.h"

// Metrics that the registry writes about the scrape itself.
namespace igpu {

inline constexpr GaugeMetric<Count, 0> kDevices{"intel_gpu_exporter_devices",
                                                "Intel GPUs that were found and are monitored."};
inline constexpr GaugeMetric<Flag, 1> kCollectorSuccess{
    "intel_gpu_scrape_collector_success",
    "Whether the collector completed this scrape without a failure; a missing feature or permission is not a failure.",
    {"collector"}};
inline constexpr GaugeMetric<Seconds, 1> kCollectorDuration{
    "intel_gpu_scrape_collector_duration_seconds", "Time the collector took in this scrape.", {"collector"}};
inline constexpr GaugeMetric<Seconds, 0> kClientWalkDuration{
    "intel_gpu_exporter_client_walk_duration_seconds",
    "Time this scrape spent scanning /proc for DRM clients; included in the duration of the first collector that "
    "needed the scan."};
inline constexpr GaugeMetric<Flag, 0> kClientWalkComplete{
    "intel_gpu_exporter_client_walk_complete",
    "Whether the scan of /proc covered every process within its time limit."};
inline constexpr GaugeMetric<Count, 0> kClientBlocksSkipped{
    "intel_gpu_exporter_client_blocks_skipped",
    "Fdinfo blocks that this scrape skipped because they were truncated, malformed, or without client id or address."};
inline constexpr InfoMetric<Count, 1> kClientFinderInfo{
    "intel_gpu_exporter_client_finder_info", "How this scrape found the DRM clients.", {"way"}};
inline constexpr GaugeMetric<Seconds, 0> kClientScanAge{
    "intel_gpu_exporter_client_scan_age_seconds",
    "Age of the oldest process scan used for this page. Known clients are read in every scrape."};
inline constexpr GaugeMetric<Flag, 3> kFeatureAvailable{
    "intel_gpu_exporter_feature_available",
    "Whether the feature is available, and if not, why: permission, kernel, hardware, suspended, disabled.",
    {"device", "feature", "reason"}};
inline constexpr GaugeMetric<Flag, 2> kFeatureMissing{
    "intel_gpu_exporter_feature_missing",
    "1 for each feature that a permission, a kernel or a module would provide: what doctor calls missing. Optional "
    "features do not count.",
    {"device", "feature"}};

inline constexpr auto kRegistryMetrics =
    kListOf<MetricDescriptor, kDevices, kCollectorSuccess, kCollectorDuration, kClientWalkDuration, kClientWalkComplete,
            kClientBlocksSkipped, kClientFinderInfo, kClientScanAge, kFeatureAvailable, kFeatureMissing>;

}  // namespace igpu
