// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/counter_window.h"
#include "collector/engines/engines.h"
#include "collector/engines/engines_clients.h"
#include "kernel/pmu/engine_events.h"

namespace igpu {
namespace {

Seconds seconds_of(std::uint64_t nanoseconds) { return Seconds{static_cast<double>(nanoseconds) / 1e9}; }

// Engines of an i915 GPU: the events <engine>-busy, -wait and -sema of its PMU, which do not keep the GPU awake, or
// otherwise its clients.
class I915EnginesCollector final : public Collector {
 public:
  explicit I915EnginesCollector(const CollectorContext& context)
      : gpu_(context.gpu),
        pmu_(context.gpu_pmu),
        min_window_(context.min_window),
        sampled_(context.options[kSampledEvents]),
        clients_(context.memory, context.gpu.address, context.min_window) {
    found_ = find_events();
  }

  void collect(ScrapePass& pass, SampleSink& out) override {
    if (!found_) found_ = find_events();  // the PMU may appear shortly after the device
    const Reading<Unit> outcome = found_ ? pmu_.refresh(pass.number()) : Reading<Unit>(Absent{Reason::kernel, ENOENT});
    if (outcome.is_failure()) {
      out.failed(outcome.failure());
      // An open PMU goes on counting: the next read includes what clients would count now, too. A PMU that fails once
      // is not replaced: with each change of source the time since the last reading is lost.
      const bool is_first = !std::exchange(failed_, true);
      if ((is_first && !clients_measure_) || pmu_.is_open()) return;
    } else if (outcome) {
      failed_ = false;
      if (write_engines(out)) {
        take_over(pass, out);
        return;
      }
    } else {
      Absent why = outcome.absent();
      if (gpu_.virtual_function && why.reason == Reason::kernel) why.reason = Reason::hardware;
      out.absent(EnginesCollector::kBusyFeature, why);
      out.absent(EnginesCollector::kWaitFeature, sampled_ ? why : Absent{Reason::disabled});
      out.absent(EnginesCollector::kInterruptsFeature, why);
    }
    clients_measure_ = true;
    const bool found = clients_.scan(pass, out);
    clients_.write(out, found);
  }

 private:
  // One event of one engine.
  struct Event {
    explicit Event(Nanoseconds min_window) : window(min_window) {}
    std::optional<PmuSession::Handle> handle;
    CounterWindow<1> window;
    std::uint64_t last_raw = 0;
  };
  struct Engine {
    Engine(std::string_view engine_name, EngineClass kind, std::string_view its_gt, Nanoseconds min_window)
        : name(engine_name), engine_class(kind), gt(its_gt), busy(min_window), wait(min_window), sema(min_window) {}
    std::string_view class_label() const { return names_of(engine_class).label; }
    std::string name;
    EngineClass engine_class;
    std::string_view gt;
    Event busy, wait, sema;
  };

  // The driver lists exactly the events that it would accept.
  bool find_events() {
    const auto events = pmu_.events();
    if (!events) return false;
    for (const std::string& event : *events)
      if (event == "interrupts") interrupts_ = pmu_.want(event);
    for (const I915EngineEvent& found : i915_engine_events(*events)) {
      if (found.kind != "busy" && !sampled_) continue;
      auto engine = std::ranges::find(engines_, found.engine, &Engine::name);
      if (engine == engines_.end())
        engine = engines_.emplace(engines_.end(), found.engine, found.engine_class, found.gt, min_window_);
      (found.kind == "busy"   ? engine->busy
       : found.kind == "wait" ? engine->wait
                              : engine->sema)
          .handle = pmu_.want(found.event);
    }
    std::array<std::uint32_t, kEngineClasses> counts{};
    for (const Engine& engine : engines_)
      if (engine.busy.handle) ++counts[static_cast<std::size_t>(engine.engine_class)];
    clients_.set_engines(counts);
    return true;
  }

  // Whether any engine's busy time counts.
  bool write_engines(SampleSink& out) {
    if (const std::uint64_t generation = pmu_.generation(); generation != generation_) {
      generation_ = generation;
      for (Engine& engine : engines_)
        for (Event* event : {&engine.busy, &engine.wait, &engine.sema}) {
          event->window.restart();
          event->last_raw = 0;
        }
    }
    bool busy = false;
    bool waits = false;
    busy_by_class_ = {};
    stepped_back_ = false;
    for (Engine& engine : engines_) {
      busy |= write_busy(engine, out);
      waits |= write_event(engine, engine.wait, EnginesCollector::kWait, EnginesCollector::kWaitRatio, out);
      waits |= write_event(engine, engine.sema, EnginesCollector::kSema, EnginesCollector::kSemaRatio, out);
    }
    bool interrupts = false;
    if (interrupts_) {
      if (const auto total = pmu_.count(*interrupts_)) {
        out.add(EnginesCollector::kInterrupts, {gpu_.address}, count_of(*total));
        interrupts = true;
      }
    }
    const auto lists = [&](auto has) { return std::ranges::any_of(engines_, has); };
    report(EnginesCollector::kBusyFeature, busy, true, lists([](const Engine& e) { return e.busy.handle.has_value(); }),
           out);
    report(EnginesCollector::kWaitFeature, waits, sampled_,
           lists([](const Engine& e) { return e.wait.handle || e.sema.handle; }), out);
    report(EnginesCollector::kInterruptsFeature, interrupts, true, interrupts_.has_value(), out);
    return busy;
  }

  bool write_event(const Engine& engine, Event& event, const Metric<Seconds, 4>& total_metric,
                   const Metric<Ratio, 4>& ratio_metric, SampleSink& out) {
    const auto total = total_of(event, out);
    if (!total) return false;
    out.add(total_metric, {gpu_.address, engine.gt, engine.name, engine.class_label()}, seconds_of(*total));
    if (const auto ratio = advance(event))
      out.add(ratio_metric, {gpu_.address, engine.gt, engine.name, engine.class_label()}, *ratio);
    return true;
  }

  bool write_busy(Engine& engine, SampleSink& out) {
    const auto total = total_of(engine.busy, out);
    if (!total) return false;
    out.add(EnginesCollector::kBusy, {gpu_.address, engine.gt, engine.name, engine.class_label(), "pmu"},
            seconds_of(*total));
    busy_by_class_[static_cast<std::size_t>(engine.engine_class)] += *total;
    if (const auto ratio = advance(engine.busy)) {
      out.add(EnginesCollector::kBusyRatio, {gpu_.address, engine.gt, engine.name, engine.class_label(), "pmu"},
              *ratio);
      awaits_ratio_ = false;
    }
    return true;
  }

  std::optional<std::uint64_t> total_of(const Event& event, SampleSink& out) {
    if (!event.handle) return std::nullopt;
    const auto total = pmu_.count(*event.handle);
    if (total.is_failure()) out.failed(total.failure());
    return total ? std::optional(*total) : std::nullopt;
  }

  // The PMU measures; what the clients counted before it is kept.
  void take_over(ScrapePass& pass, SampleSink& out) {
    if (std::exchange(clients_measure_, false)) {
      awaits_ratio_ = true;
      (void)clients_.scan(pass, out);  // up to here
    }
    clients_.forget();  // if the PMU disappears, its time is not counted twice
    clients_.pmu_measured(pass.now(), busy_by_class_, stepped_back_);
    clients_.write(out, awaits_ratio_);
    pass.facts().put(gpu_.address, clients_.total_with(busy_by_class_));
  }

  std::optional<Ratio> advance(Event& event) {
    const auto raw = pmu_.raw(*event.handle);
    if (!raw) return std::nullopt;
    stepped_back_ = stepped_back_ || *raw < event.last_raw;
    event.last_raw = *raw;
    const auto delta = event.window.advance(pmu_.time(), {*raw});
    if (!delta) return std::nullopt;
    return clamped_ratio(static_cast<double>(delta->counts[0]), static_cast<double>(delta->elapsed.count()));
  }

  void report(const FeatureDescriptor& feature, bool counts, bool asked_for, bool listed, SampleSink& out) const {
    if (counts) {
      out.available(feature);
    } else {
      const Reason reason = !asked_for ? Reason::disabled : gpu_.virtual_function ? Reason::hardware : Reason::kernel;
      out.absent(feature, {reason, reason == Reason::kernel && !listed ? EOPNOTSUPP : 0});
    }
  }

  const Gpu& gpu_;
  PmuSession& pmu_;
  const Nanoseconds min_window_;
  const bool sampled_;
  bool found_ = false;
  std::vector<Engine> engines_;
  std::optional<PmuSession::Handle> interrupts_;
  std::uint64_t generation_ = 0;
  ClientEngineTime clients_;
  bool failed_ = false;  // the last attempt to read the PMU failed
  bool clients_measure_ = false;
  bool awaits_ratio_ = false;  // the PMU has taken over and has no whole window yet
  // From the PMU, in this scrape.
  ClientEngineTime::ByClass busy_by_class_{};
  bool stepped_back_ = false;
};

}  // namespace

std::unique_ptr<Collector> EnginesCollector::create_i915(const CollectorContext& context) {
  return std::make_unique<I915EnginesCollector>(context);
}

}  // namespace igpu
