// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "collector/collector.h"
#include "igpu/log.h"
#include "igpu/monitor.h"
#include "igpu/options.h"
#include "machine/machine.h"

namespace igpu {

// A collector with its configuration.
struct ConfiguredCollector {
  CollectorEntry entry;
  bool enabled = true;  // always_on collectors are always enabled
  OptionValues options;

  // The longest time between two readings, even without scrapes; nullopt if only scrapes read it.
  std::optional<Nanoseconds> read_within(Nanoseconds longest) const;
};

// Whether the collector counts short jobs, so that it is worth reading between scrapes.
bool is_read_between_scrapes(const CollectorInfo& collector);

// Whether the collector runs with these options; nothing else decides it.
bool is_enabled(const CollectorInfo& collector, const MonitorOptions& options);

// All collectors, in the same order. Throws OptionError for an unknown collector or option, and for an invalid value.
std::vector<ConfiguredCollector> configure(std::span<const CollectorEntry> collectors, const MonitorOptions& options);

struct RegistryOptions {
  std::vector<std::string> gpus;  // selection, as MonitorOptions
  Nanoseconds min_window{};
  Nanoseconds collector_timeout{};
  // Starts the threads that collectors run on, because a thread inherits the rights of the thread that starts it.
  // Empty: the caller of a scrape starts them.
  std::function<std::thread(std::function<void()>)> make_thread = {};
  Nanoseconds accumulator_interval = std::chrono::minutes(10);  // as MonitorOptions
  std::shared_ptr<WorkloadRuleSource> workload_rules = {};      // as MonitorOptions
  std::shared_ptr<Flights> flights = {};                        // as MonitorOptions
  // start() runs the collectors on the calling thread. A read that hangs then hangs the caller.
  bool on_calling_thread = false;
  bool own_metrics = true;  // pages have the metrics of registry_metrics.h
};

struct RegistryCore;
class RegistryRun;
class Worker;

// Runs the collectors: one run at a time, one collector after the other, isolated from each other. A collector that
// throws, fails or hangs loses its own samples only. A hanging collector is left behind with its thread, and skipped
// until it returns. GPUs that appear or disappear are followed.
//
// Reading order: registry.cpp starts a run, run.cpp executes its steps on a worker thread, run_wait.cpp is what callers
// do meanwhile, scrape_page.cpp makes the page. core.h holds what outlives a run, gpu_unit.h one GPU.
class Registry {
 public:
  // machine and log must outlive the registry and every collector that was left behind. Those collectors hold
  // keep_alive, which may own the machine.
  Registry(std::shared_ptr<void> keep_alive, Machine& machine, RegistryOptions registry_options,
           std::vector<ConfiguredCollector> collectors, Log& log);
  ~Registry();

  struct Request {
    CollectorSet collectors;
    bool only_accumulating = false;  // only collectors with counters that advance when read
    bool reads_clients = false;      // with only_accumulating: also collectors that count short jobs
    Nanoseconds deadline = Nanoseconds::max();
  };
  // Starts a run. The previous one must have ended; not thread-safe.
  std::shared_ptr<RegistryRun> start(const Request& request);
  // Waits for the previous run, starts a run, and waits for its result.
  std::shared_ptr<const ScrapeResult> run(const Request& request);

  std::shared_ptr<const std::vector<Gpu>> gpus() const;  // as listed last; thread-safe; not null
  // When the next run with only_accumulating is due, relative to the last run; thread-safe.
  Nanoseconds accumulating_due_after() const;

 private:
  std::shared_ptr<RegistryCore> core_;
  std::unique_ptr<Worker> worker_;
  std::shared_ptr<RegistryRun> current_;
};

// Metrics that the registry writes about the scrape itself.
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
