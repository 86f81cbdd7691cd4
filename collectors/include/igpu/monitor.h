// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "igpu/device.h"
#include "igpu/feature.h"
#include "igpu/log.h"
#include "igpu/options.h"
#include "igpu/page.h"

// The library's front: everything a program needs to watch the Intel GPUs of a machine.
//
//   igpu::Monitor monitor(options, log);
//   auto scrape = monitor.scrape({});
//   igpu::PageView page(scrape->lists());
namespace igpu {

class MachineParts;

// What may be asked for and documented without any machine.
struct CollectorDescription {
  std::string_view name;
  std::string_view help;
  bool enabled_by_default;
  bool always_on;
  std::span<const MetricDescriptor* const> metrics;
  std::span<const FeatureDescriptor* const> features;
  struct Option {
    std::string_view name, default_value, help, choices;
  };
  std::vector<Option> options;
};
std::vector<CollectorDescription> describe_collectors();
// Metrics that belong to no collector (intel_gpu_exporter_devices, scrape durations, feature_available).
std::span<const MetricDescriptor* const> registry_metrics();
// Names and one-line descriptions of --simulate.
struct SimulationProfile {
  std::string_view name, description;
};
std::span<const SimulationProfile> simulation_profiles();

struct ScrapeRequest {
  std::vector<std::string> collectors;  // empty: all enabled ones (always_on ones run in any case)
  Nanoseconds deadline = Nanoseconds::max();  // time left for this scrape; late collectors are left out
};

class ScrapeResult {
 public:
  virtual ~ScrapeResult() = default;
  virtual std::span<const SampleList* const> lists() const = 0;
  virtual std::span<const Finding> findings() const = 0;
};

class Monitor {
 public:
  // Throws std::invalid_argument for options that make no sense (unknown collector, profile, root that is no
  // directory); its what() is one clear line. No GPU is no error. log must outlive the monitor.
  Monitor(const MonitorOptions& options, Log& log);
  ~Monitor();
  Monitor(const Monitor&) = delete;
  Monitor& operator=(const Monitor&) = delete;

  // Any thread. Scrapes run one at a time; a call that arrives while one with the same collectors runs shares its
  // result. The first scrape waits until min_window has passed since construction (at most one second), so that
  // every window is of full length.
  std::shared_ptr<const ScrapeResult> scrape(const ScrapeRequest& request);

  std::vector<Gpu> gpus();                           // discovers anew
  std::vector<std::string> enabled_collectors() const;  // without always_on ones
  bool simulated() const;

 private:
  struct State;
  explicit Monitor(std::unique_ptr<State> state);
  friend std::unique_ptr<Monitor> make_monitor(std::shared_ptr<MachineParts> parts, const MonitorOptions& options, Log& log);

  std::unique_ptr<State> state_;
};

}  // namespace igpu
