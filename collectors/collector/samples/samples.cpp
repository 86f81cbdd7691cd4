// SPDX-License-Identifier: Apache-2.0
#include "collector/samples/samples.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "collector/jobs/jobs_facts.h"
#include "machine/driver_events.h"
#include "trace/job_counts.h"

namespace igpu {
namespace {

constexpr GaugeMetric<Ratio, 5> kBusyMax{
    "intel_gpu_engine_busy_ratio_max",
    "Largest sample of the share of time in which the engine was busy, since this client's previous scrape.",
    {"device", "gt", "engine", "class", "source"}};
constexpr GaugeMetric<Ratio, 5> kBusyMin{
    "intel_gpu_engine_busy_ratio_min",
    "Smallest sample of the share of time in which the engine was busy, since this client's previous scrape.",
    {"device", "gt", "engine", "class", "source"}};
constexpr GaugeMetric<Watts, 3> kPowerMax{
    "intel_gpu_power_watts_max",
    "Largest sample of the power since this client's previous scrape; a sample covers at least a quarter of a second.",
    {"device", "domain", "source"}};
constexpr GaugeMetric<Hertz, 2> kFrequencyMin{
    "intel_gpu_frequency_hertz_min",
    "Smallest sample of the actual frequency since this client's previous scrape, while the GT was not parked.",
    {"device", "gt"}};
constexpr HistogramMetric<Ratio, 4, sampling::kUtilizationBounds.size()> kUtilization{
    "intel_gpu_engine_utilization_ratio",
    "Samples of the share of time in which the engine was busy.",
    {"device", "gt", "engine", "class"},
    sampling::kUtilizationBounds};
constexpr CounterMetric<Seconds, 4> kSaturated{"intel_gpu_engine_saturated_seconds_total",
                                               "Time in samples that were at least as busy as --sample.saturated.",
                                               {"device", "gt", "engine", "class"}};
constexpr HistogramMetric<Seconds, 4, sampling::kGapBounds.size()> kGaps{
    "intel_gpu_engine_idle_gaps_seconds",
    "How long a working engine was less than 5 % busy before it worked again; at most a minute.",
    {"device", "gt", "engine", "class"},
    sampling::kGapBounds};
constexpr CounterMetric<Seconds, 3> kSamplesThrottled{
    "intel_gpu_throttled_seconds_total",
    "Samples in which this reason limited the frequency, as time; only while the GPU is in use.",
    {"device", "gt", "reason"}};
constexpr CounterMetric<Count, 0> kMissed{
    "intel_gpu_exporter_samples_missed_total",
    "Samples that were due and not taken, because the machine was too busy or a reading took too long."};
constexpr std::array<KernelAbsence, 2> kNoPmu{{
    {Driver::i915, kEither, "this kernel's i915 driver has no PMU, or not the events of the engines",
     "Linux 4.16 or newer"},
    {Driver::xe, kEither, "this kernel's xe driver has no PMU, or the GPU's firmware is too old for its events",
     "current GuC firmware; Linux 6.17 or newer"},
}};
constexpr FeatureDescriptor kSamplesFeature{"samples", "Engines sampled between the scrapes.", Need::perf_events, false,
                                            kNoPmu};
constexpr DurationOption kInterval{{.flag = "sample.interval",
                                    .default_value = "100ms",
                                    .help = "Turns on collector samples, which is off by default and reads the GPUs "
                                            "this often between the scrapes: 10ms to 10s."},
                                   std::chrono::milliseconds(10),
                                   std::chrono::seconds(10)};
constexpr DurationOption kFlightLength{
    {.flag = "flight.length",
     .default_value = "60s",
     .help = "How much of the time before its event a flight holds: 1s to 10m. Needs --sample.interval."},
    std::chrono::seconds(1),
    std::chrono::minutes(10)};
constexpr TextListOption kFlightTriggers{
    {.flag = "flight.trigger",
     .default_value = "",
     .help = "Also record a flight when this happens: engine_busy{class=video}>0.98/5s, throttled/2s, "
             "idle_gap{class=video}>0.5s or scrape_failed. Faults and requests always do. Needs --sample.interval."},
    "TRIGGER",
    &sampling::refusal_of_flight_trigger};
constexpr RatioOption kSaturatedAbove{
    {.flag = "sample.saturated",
     .default_value = "0.95",
     .help = "An engine is saturated while its samples are busy for at least this share of the time."}};

// The extremes of a client's own window.
class Windows final : public ClientSamples {
 public:
  explicit Windows(std::shared_ptr<sampling::Sampler> sampler) : sampler_(std::move(sampler)) {}

  void write(std::string_view client, SampleSink& out) override {
    sampler_->take_window(client, [&out](const sampling::Sampler::WindowView& window) {
      const sampling::FrameLayout& layout = window.layout;
      for (std::size_t i = 0; i < layout.engines.size(); ++i) {
        const auto& engine = layout.engines[i];
        if (!sampling::is_value(window.engines[i].most)) continue;
        const std::string_view labels[] = {layout.device, engine.gt, engine.name, engine.class_label, "pmu"};
        out.add(kBusyMax, labels, Ratio{window.engines[i].most});
        out.add(kBusyMin, labels, Ratio{window.engines[i].least});
      }
      for (std::size_t i = 0; i < layout.domains.size(); ++i)
        if (sampling::is_value(window.domains[i].most))
          out.add(kPowerMax, {layout.device, layout.domains[i].name, layout.domains[i].source},
                  Watts{window.domains[i].most});
      for (std::size_t i = 0; i < layout.gts.size(); ++i)
        if (sampling::is_value(window.gts[i].least))
          out.add(kFrequencyMin, {layout.device, layout.gts[i]}, Hertz{window.gts[i].least});
    });
  }

 private:
  const std::shared_ptr<sampling::Sampler> sampler_;
};

void write_totals(const sampling::Sampler::GpuView& gpu, SampleSink& out) {
  const sampling::FrameLayout& layout = gpu.layout;
  for (std::size_t i = 0; i < layout.engines.size(); ++i) {
    const auto& engine = layout.engines[i];
    const sampling::EngineStatistics& statistics = *gpu.engines[i];
    if (!statistics.observed()) continue;  // an engine that may not be read is not one that is idle
    const std::string_view labels[] = {layout.device, engine.gt, engine.name, engine.class_label};
    out.add(kUtilization, labels, {statistics.utilization().counts, Ratio{statistics.utilization().sum}});
    out.add(kSaturated, labels, statistics.saturated());
    out.add(kGaps, labels, {statistics.gaps().counts, Seconds{statistics.gaps().sum}});
  }
  for (std::size_t gt = 0; gt < layout.gts.size(); ++gt) {
    if ((layout.throttle_known >> gt & 1) == 0) continue;
    for (std::size_t reason = 0; reason < layout.reasons.size(); ++reason)
      out.add(kSamplesThrottled, {layout.device, layout.gts[gt], layout.reasons[reason]},
              Seconds{*gpu.throttled[gt][reason]});
  }
}

// closed: why the PMU of xe is closed, if it is.
void report(const sampling::Sampler::GpuView& gpu, Absent closed, SampleSink& out) {
  const FeatureDescriptor& feature = kSamplesFeature;
  if (gpu.state == sampling::GpuState::sleeping) {
    out.absent(feature, {Reason::suspended}, gpu.layout.device);
  } else if (!gpu.engines_outcome) {
    out.absent(feature, closed, gpu.layout.device);
  } else if (gpu.engines_outcome->is_failure()) {
    out.failed(gpu.engines_outcome->failure());
  } else if (gpu.engines_outcome->is_absent()) {
    out.absent(feature, gpu.engines_outcome->absent(), gpu.layout.device);
  } else {
    out.available(feature, gpu.layout.device);
  }
}

}  // namespace

constexpr CollectorInfo SamplesCollector::kInfo{
    .name = "samples",
    .help = "Peaks, gaps and saturation between the scrapes, by a thread that reads the GPUs many times a second.",
    .enabled_by_default = false,
    .in_snapshots = false,
    .reads_processes = true,  // clients, for the flight recorder
    .metrics = kListOf<MetricDescriptor, kBusyMax, kBusyMin, kPowerMax, kFrequencyMin, kUtilization, kSaturated, kGaps,
                       kSamplesThrottled, kMissed>,
    .features = kListOf<FeatureDescriptor, kSamplesFeature>,
    .options = kListOf<OptionDescriptor, kInterval, kSaturatedAbove, kFlightLength, kFlightTriggers>,
    .enabled_by = kListOf<OptionDescriptor, kInterval>,
    .notes =
        "`--sample.interval` turns it on. `_max` and `_min` cover the time since the previous scrape by the same "
        "client (address, User-Agent and query), about five minutes at most. A GPU that sleeps is not sampled, an xe "
        "GPU's engines only while collector engines has its PMU open, and what would keep a GPU awake only while "
        "something else does. See docs/between-scrapes.md.",
};

std::unique_ptr<MachineCollector> SamplesCollector::create(const MachineContext& context) {
  const Nanoseconds interval = context.options[kInterval];
  sampling::SamplerOptions options{.interval = interval, .saturated = context.options[kSaturatedAbove]};
  if (context.flights) {
    sampling::FlightOptions flights{.length = context.options[kFlightLength], .triggers = {}, .interval = interval};
    for (const std::string& text : context.options[kFlightTriggers])
      flights.triggers.push_back(std::get<sampling::FlightTrigger>(sampling::parse_flight_trigger(text)));
    options.recorder = std::make_shared<sampling::FlightRecorder>(std::move(flights), context.flights);
  }
  auto collector = std::make_unique<SamplesCollector>(context.machine, options);
  collector->recorder_ = options.recorder;
  collector->thread_ = std::make_unique<sampling::SamplingThread>(
      collector->sampler_,
      sampling::SamplingThread::Options{
          .interval = interval, .longest_tick = context.collector_timeout, .keep_alive = context.keep_alive});
  return collector;
}

void SamplesCollector::collect(MachinePass& pass, SampleSink& out) {
  const std::vector<AccessibleGpu> gpus = pass.accessible_gpus();
  sampler_->follow(gpus);
  sampler_->for_each_gpu([&](const sampling::Sampler::GpuView& gpu) {
    write_totals(gpu, out);
    const auto access = std::ranges::find_if(
        gpus, [&](const AccessibleGpu& accessible) { return accessible.gpu.address == gpu.layout.device; });
    if (access != gpus.end()) report(gpu, access->access->pmu_closed_because(), out);
  });
  // Between two ticks those of a long tick are in neither number.
  missed_ = std::max(missed_, sampler_->missed() + (thread_ ? thread_->overdue() : 0));
  out.add(kMissed, count_of(missed_));
  if (const Reading<Unit> ticks = thread_ ? thread_->outcome() : Unit{}; ticks.is_failure())
    out.failed(ticks.failure());
  pass.differs_by_client(std::make_shared<Windows>(sampler_));
  if (!recorder_) return;
  if (const auto clients = pass.clients()) recorder_->see_clients(**clients);
  for (const auto& [device, jobs] : pass.facts().by_device<CountedJobs>())
    recorder_->see_jobs(device, pass.now(), read_job_counts(jobs.counters->slots(), device));
}

CollectorEntry samples_collector() { return entry<SamplesCollector>(); }

}  // namespace igpu
