// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <list>
#include <optional>
#include <string_view>

#include "base/counter_window.h"
#include "collector/engines.h"
#include "collector/engines_facts.h"
#include "source/process_engine_times.h"
#include "source/wddm.h"

namespace igpu {

// Engines of a GPU under Windows: the running time of its nodes, which the graphics kernel has counted since the driver
// started. Some drivers have nodes whose time stays 0 while processes use them. In that case the time of all engines
// comes from Windows' performance counters. Each source has a counter of its own.
class WddmEnginesCollector final : public Collector {
 public:
  explicit WddmEnginesCollector(const CollectorContext& context);
  void collect(ScrapePass& pass, SampleSink& out) override;

 private:
  struct Count {
    Count(MonotonicCounter& counter, Nanoseconds min_window) : nanoseconds(counter), window(min_window) {}
    MonotonicCounter& nanoseconds;
    CounterWindow<1> window;
  };
  struct Engine {
    Engine(const WddmEngine& engine, CounterMemory& memory, Nanoseconds min_window)
        : facts(engine),
          of_node(memory.counter("busy/" + engine.name), min_window),
          of_processes(memory.counter("busy of processes/" + engine.name), min_window) {}
    WddmEngine facts;
    Count of_node, of_processes;
    Reading<Nanoseconds> busy = Absent{};  // of the node, at this scrape
  };
  using ByClass = std::array<bool, kEngineClasses>;

  void find_still_classes(ScrapePass& pass);
  bool is_still(const Engine& engine) const;
  void write(const Engine& engine, Count& count, Nanoseconds busy, std::string_view source, ScrapePass& pass,
             EngineSeconds& by_class, SampleSink& out) const;

  const Gpu& gpu_;
  CounterMemory& memory_;
  const Nanoseconds min_window_;
  const Machine& machine_;
  WddmGpu adapter_;
  std::optional<ProcessEngineTimes> processes_;  // while they are the source
  std::list<Engine> engines_;
  ByClass still_{};  // nodes of the class have not counted, although it was used
};

}  // namespace igpu
