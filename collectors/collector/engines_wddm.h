// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <list>
#include <string>

#include "base/counter_window.h"
#include "collector/engines.h"
#include "source/wddm.h"

namespace igpu {

// Engines of a GPU under Windows: the running time of its nodes, which the graphics kernel has counted since the driver
// started.
class WddmEngineMeter final : public EngineMeter {
 public:
  explicit WddmEngineMeter(const CollectorContext& context);
  void collect(ScrapePass& pass, SampleSink& out) override;

 private:
  struct Engine {
    Engine(const WddmEngine& engine, CounterMemory& memory, Nanoseconds min_window)
        : facts(engine), nanoseconds(memory.counter("busy/" + engine.name)), window(min_window) {}
    WddmEngine facts;
    MonotonicCounter& nanoseconds;
    CounterWindow<1> window;
    Reading<Nanoseconds> busy = Absent{};  // at this scrape
  };
  bool stands_still(ScrapePass& pass) const;
  void write(Engine& engine, ScrapePass& pass, EngineSeconds& by_class, SampleSink& out) const;

  const Gpu& gpu_;
  CounterMemory& memory_;
  const Nanoseconds min_window_;
  WddmGpu adapter_;
  std::list<Engine> engines_;
};

}  // namespace igpu
