// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "igpu/collector_set.h"
#include "igpu/device.h"
#include "igpu/feature.h"
#include "igpu/log.h"
#include "igpu/options.h"
#include "igpu/page.h"

// The library's facade: everything a program needs to monitor the Intel GPUs of a machine.
//
//   igpu::Monitor monitor(options, log);
//   auto scrape = monitor.scrape({});
//   igpu::PageView page(scrape->lists());
namespace igpu {

class MachineParts;

// A collector's static description; available without a machine.
struct CollectorDescription {
  std::string_view name;
  std::string_view help;
  bool enabled_by_default;
  bool for_commands;  // stats and capture run it although it is off by default
  bool always_on;
  std::span<const MetricDescriptor* const> metrics;
  std::span<const FeatureDescriptor* const> features;
  std::span<const OptionDescriptor* const> options;     // some are shared by several collectors
  std::string_view notes;                               // what concerns several of its metrics; "" for nothing
  bool reads_processes;                                 // of other users, below /proc
  std::span<const std::string_view> proc_files;         // other files below /proc that it reads
  std::span<const MetricDescriptor* const> in_windows;  // those of the metrics that Windows gives
  std::span<const MetricDescriptor* const> not_in_linux;
};
std::vector<CollectorDescription> describe_collectors();
// The collectors that run with these options.
std::vector<CollectorDescription> describe_collectors(const MonitorOptions& options);
// Whether one of the collectors that run with these options reads processes of this machine.
bool reads_processes(const MonitorOptions& options);
// Metrics that belong to no collector (intel_gpu_exporter_devices, scrape durations, feature_available).
std::span<const MetricDescriptor* const> registry_metrics();
// Names and one-line descriptions of --simulate.
struct SimulationProfile {
  std::string_view name, description;
};
std::span<const SimulationProfile> simulation_profiles();

struct ScrapeRequest {
  CollectorSet collectors;  // all enabled ones, unless others are named; always_on ones run in any case
  // Time left for this scrape. Collectors that have not finished by then are left out for this caller only, with
  // intel_gpu_scrape_collector_success 0.
  Nanoseconds deadline = Nanoseconds::max();
  std::stop_token gone{};  // stopped: the caller no longer wants the result
  // When the caller began to wait, if that was before the call: the result of a run that began later will do, even if
  // the run has ended.
  std::chrono::steady_clock::time_point since = std::chrono::steady_clock::time_point::max();
  // Who scrapes. Some gauges describe the time since the previous scrape with the same identity; "" is one, too.
  std::string client{};
};

struct CollectorFailure {
  std::string_view collector;
  std::string device;  // "" if it concerns the whole machine
  Failure failure;
};

class ScrapeResult {
 public:
  virtual ~ScrapeResult() = default;
  virtual std::span<const SampleList* const> lists() const = 0;
  virtual std::span<const Finding> findings() const = 0;
  // Collectors with a failed, hung or late read: their intel_gpu_scrape_collector_success is 0.
  virtual std::span<const std::string_view> failed_collectors() const = 0;
  // What failed in them.
  virtual std::span<const CollectorFailure> failures() const { return {}; }
};

// What a monitor opens with privileges that a program may drop before it makes the monitor: BPF programs (CAP_BPF and
// CAP_PERFMON). A monitor that is not given one opens its own. Throws OptionError.
class EarlyAccess;
std::shared_ptr<EarlyAccess> open_early(const MonitorOptions& options);

class Monitor {
 public:
  // Throws OptionError for an invalid option (unknown collector or profile, a root that is not a directory); its what()
  // is one line. A machine without a GPU is not an error. log must outlive the monitor.
  Monitor(const MonitorOptions& options, Log& log, std::shared_ptr<EarlyAccess> early = nullptr);
  ~Monitor();
  Monitor(const Monitor&) = delete;
  Monitor& operator=(const Monitor&) = delete;

  // Any thread. One run of the collectors at a time. A call that arrives while all of its collectors are running shares
  // that run; all other calls share the next run, which runs the collectors of all of them. So a call waits at most for
  // the rest of one run and its own collectors in the next, however many calls there are. Each call returns when its
  // collectors have finished or at its own deadline; the run continues to its end. The first scrape waits until
  // min_window has passed since construction (at most one second), so that every window is of full length.
  //
  // Returns null, but only if a deadline or `gone` was given: the deadline passed before a run with these collectors
  // began, or `gone` was stopped.
  std::shared_ptr<const ScrapeResult> scrape(const ScrapeRequest& request);

  std::vector<Gpu> gpus();                              // discovers again
  std::vector<std::string> enabled_collectors() const;  // without always_on ones
  bool simulated() const;

 private:
  struct State;
  explicit Monitor(std::unique_ptr<State> state);
  friend std::unique_ptr<Monitor> make_monitor(std::shared_ptr<MachineParts> parts, const MonitorOptions& options,
                                               Log& log);
  friend std::size_t waiting_for_run(const Monitor& monitor);

  std::unique_ptr<State> state_;
};

// For a program that opens perf events in another process, so that the process with the monitor needs neither the
// privilege nor the system call. The two share a socket pair (SOCK_SEQPACKET).
//
// For the other process: what opens perf events on request until the other end of the socket is closed, and only those
// of PMUs that collectors read. sysfs_root is opened at once: the process may have another root folder afterwards.
// Throws std::system_error if it is not a directory.
std::function<void(int socket)> perf_opener(const std::string& sysfs_root);

// As open_early(options), for a monitor that requests its perf events over this socket, which must stay open.
std::shared_ptr<EarlyAccess> open_early(const MonitorOptions& options, int perf_opener);

}  // namespace igpu
