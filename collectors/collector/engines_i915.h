// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/counter_window.h"
#include "collector/engines.h"
#include "collector/engines_clients.h"

namespace igpu {

// Engines of an i915 GPU: the events <engine>-busy, -wait and -sema of its PMU, which do not keep the GPU awake, or
// otherwise its clients.
class I915EnginesCollector final : public Collector {
 public:
  explicit I915EnginesCollector(const CollectorContext& context);
  void collect(ScrapePass& pass, SampleSink& out) override;

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

  bool find_events();
  bool write_engines(SampleSink& out);
  bool write_event(const Engine& engine, Event& event, const Metric<Seconds, 4>& total, const Metric<Ratio, 4>& ratio,
                   SampleSink& out);
  bool write_busy(Engine& engine, SampleSink& out);
  void take_over(ScrapePass& pass, SampleSink& out);
  std::optional<Ratio> advance(Event& event);
  void report(const FeatureDescriptor& feature, bool counts, bool asked_for, bool listed, SampleSink& out) const;

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

}  // namespace igpu
