// SPDX-License-Identifier: Apache-2.0
#include "collector/samples.h"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "machine/job_counters.h"
#include "source/job_counts.h"

namespace igpu {
namespace {

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
        out.add(SamplesCollector::kBusyMax, labels, Ratio{window.engines[i].most});
        out.add(SamplesCollector::kBusyMin, labels, Ratio{window.engines[i].least});
      }
      for (std::size_t i = 0; i < layout.domains.size(); ++i)
        if (sampling::is_value(window.domains[i].most))
          out.add(SamplesCollector::kPowerMax, {layout.device, layout.domains[i].name, layout.domains[i].source},
                  Watts{window.domains[i].most});
      for (std::size_t i = 0; i < layout.gts.size(); ++i)
        if (sampling::is_value(window.gts[i].least))
          out.add(SamplesCollector::kFrequencyMin, {layout.device, layout.gts[i]}, Hertz{window.gts[i].least});
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
    out.add(SamplesCollector::kUtilization, labels,
            {statistics.utilization().counts, Ratio{statistics.utilization().sum}});
    out.add(SamplesCollector::kSaturated, labels, statistics.saturated());
    out.add(SamplesCollector::kGaps, labels, {statistics.gaps().counts, Seconds{statistics.gaps().sum}});
  }
  for (std::size_t gt = 0; gt < layout.gts.size(); ++gt) {
    if ((layout.throttle_known >> gt & 1) == 0) continue;
    for (std::size_t reason = 0; reason < layout.reasons.size(); ++reason)
      out.add(SamplesCollector::kThrottled, {layout.device, layout.gts[gt], layout.reasons[reason]},
              Seconds{*gpu.throttled[gt][reason]});
  }
}

// closed: why the PMU of xe is closed, if it is.
void report(const sampling::Sampler::GpuView& gpu, Absent closed, SampleSink& out) {
  const FeatureDescriptor& feature = SamplesCollector::kFeature;
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
          .interval = interval, .patience = context.collector_timeout, .keep_alive = context.keep_alive});
  return collector;
}

void SamplesCollector::collect(MachinePass& pass, SampleSink& out) {
  const std::vector<AccessibleGpu> gpus = pass.accessible_gpus();
  sampler_->follow(gpus);
  sampler_->for_each_gpu([&](const sampling::Sampler::GpuView& gpu) {
    write_totals(gpu, out);
    const auto access = std::find_if(gpus.begin(), gpus.end(), [&](const AccessibleGpu& accessible) {
      return accessible.gpu.address == gpu.layout.device;
    });
    if (access != gpus.end()) report(gpu, access->access->pmu_closed_because(), out);
  });
  // Between two ticks those of a long tick are in neither number.
  missed_ = std::max(missed_, sampler_->missed() + (thread_ ? thread_->overdue() : 0));
  out.add(kMissed, Count{static_cast<double>(missed_)});
  if (const Reading<Unit> ticks = thread_ ? thread_->outcome() : Unit{}; ticks.is_failure())
    out.failed(ticks.failure());
  pass.differs_by_client(std::make_shared<Windows>(sampler_));
  if (!recorder_) return;
  if (const auto clients = pass.clients()) recorder_->see_clients(**clients);
  for (const auto& [device, counters] : pass.jobs_counted())
    recorder_->see_jobs(device, pass.now(), read_job_counts(counters->slots(), device));
}

}  // namespace igpu
