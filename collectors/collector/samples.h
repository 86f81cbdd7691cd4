// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "collector/collector.h"
#include "sampling/flight_recorder.h"
#include "sampling/sampler.h"
#include "sampling/sampling_thread.h"

namespace igpu {

// Values from between the scrapes: the sampling thread (sampling/) reads the GPUs many times a second, and a scrape
// reports sums and extremes of its samples.
class SamplesCollector final : public MachineCollector {
 public:
  static constexpr Metric<Ratio, 5> kBusyMax{
      "intel_gpu_engine_busy_ratio_max",
      Kind::gauge,
      "Largest sample of the share of time in which the engine was busy, since this client's previous scrape.",
      {"device", "gt", "engine", "class", "source"}};
  static constexpr Metric<Ratio, 5> kBusyMin{
      "intel_gpu_engine_busy_ratio_min",
      Kind::gauge,
      "Smallest sample of the share of time in which the engine was busy, since this client's previous scrape.",
      {"device", "gt", "engine", "class", "source"}};
  static constexpr Metric<Watts, 3> kPowerMax{"intel_gpu_power_watts_max",
                                              Kind::gauge,
                                              "Largest sample of the power since this client's previous scrape; a "
                                              "sample covers at least a quarter of a second.",
                                              {"device", "domain", "source"}};
  static constexpr Metric<Hertz, 2> kFrequencyMin{
      "intel_gpu_frequency_hertz_min",
      Kind::gauge,
      "Smallest sample of the actual frequency since this client's previous scrape, while the GT was not parked.",
      {"device", "gt"}};
  static constexpr HistogramMetric<Ratio, 4, sampling::kUtilizationBounds.size()> kUtilization{
      "intel_gpu_engine_utilization_ratio",
      "Samples of the share of time in which the engine was busy.",
      {"device", "gt", "engine", "class"},
      sampling::kUtilizationBounds};
  static constexpr Metric<Seconds, 4> kSaturated{"intel_gpu_engine_saturated_seconds_total",
                                                 Kind::counter,
                                                 "Time in samples that were at least as busy as --sample.saturated.",
                                                 {"device", "gt", "engine", "class"}};
  static constexpr HistogramMetric<Seconds, 4, sampling::kGapBounds.size()> kGaps{
      "intel_gpu_engine_idle_gaps_seconds",
      "How long a working engine was less than 5 % busy before it worked again; at most a minute.",
      {"device", "gt", "engine", "class"},
      sampling::kGapBounds};
  static constexpr Metric<Seconds, 3> kThrottled{
      "intel_gpu_throttled_seconds_total",
      Kind::counter,
      "Samples in which this reason limited the frequency, as time; only while the GPU is in use.",
      {"device", "gt", "reason"}};
  static constexpr Metric<Count, 0> kMissed{
      "intel_gpu_exporter_samples_missed_total", Kind::counter,
      "Samples that were due and not taken, because the machine was too busy or a reading took too long."};

  static constexpr std::array<KernelAbsence, 2> kNoPmu{{
      {Driver::i915,
       {},
       "this kernel's i915 driver has no PMU, or not the events of the engines",
       "Linux 4.16 or newer"},
      {Driver::xe,
       {},
       "this kernel's xe driver has no PMU, or the GPU's firmware is too old for its events",
       "Linux 6.17 or newer with current GuC firmware"},
  }};
  static constexpr FeatureDescriptor kFeature{"samples", "Engines sampled between the scrapes.", Need::perf_events,
                                              false, kNoPmu};
  static constexpr DurationOption kInterval{
      {.flag = "sample.interval",
       .default_value = "100ms",
       .help = "Turns on collector samples, which is off by default and reads the GPUs this often between the scrapes: "
               "10ms to 10s."},
      std::chrono::milliseconds(10),
      std::chrono::seconds(10)};
  static constexpr DurationOption kFlightLength{
      {.flag = "flight.length",
       .default_value = "60s",
       .help = "How much of the time before its event a flight holds: 1s to 10m. Needs --sample.interval."},
      std::chrono::seconds(1),
      std::chrono::minutes(10)};
  static constexpr TextListOption kFlightTriggers{
      {.flag = "flight.trigger",
       .default_value = "",
       .help = "Also record a flight when this happens: engine_busy{class=video}>0.98/5s, throttled/2s, "
               "idle_gap{class=video}>0.5s or scrape_failed. Faults and requests always do. Needs --sample.interval."},
      "TRIGGER",
      &sampling::refusal_of_flight_trigger};
  static constexpr RatioOption kSaturatedAbove{
      {.flag = "sample.saturated",
       .default_value = "0.95",
       .help = "An engine is saturated while its samples are busy for at least this share of the time."}};

  static constexpr std::array<const MetricDescriptor*, 9> kMetrics{
      &kBusyMax, &kBusyMin, &kPowerMax, &kFrequencyMin, &kUtilization, &kSaturated, &kGaps, &kThrottled, &kMissed};
  static constexpr std::array<const FeatureDescriptor*, 1> kFeatures{&kFeature};
  static constexpr std::array<const OptionDescriptor*, 4> kOptions{&kInterval, &kSaturatedAbove, &kFlightLength,
                                                                   &kFlightTriggers};
  static constexpr std::array<const OptionDescriptor*, 1> kEnabledBy{&kInterval};
  static constexpr CollectorInfo kInfo{
      .name = "samples",
      .help = "Peaks, gaps and saturation between the scrapes, by a thread that reads the GPUs many times a second.",
      .enabled_by_default = false,
      .in_snapshots = false,
      .reads_processes = true,  // clients, for the flight recorder
      .metrics = kMetrics,
      .features = kFeatures,
      .options = kOptions,
      .enabled_by = kEnabledBy,
      .notes =
          "`--sample.interval` turns it on. `_max` and `_min` cover the time since the previous scrape by the same "
          "client (address, User-Agent and query), about five minutes at most. A GPU that sleeps is not sampled, an xe "
          "GPU's engines only while collector engines has its PMU open, and what would keep a GPU awake only while "
          "something else does. See docs/between-scrapes.md.",
  };

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
