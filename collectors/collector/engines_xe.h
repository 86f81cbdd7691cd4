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
#include "collector/engines_xe_sleep.h"
#include "source/drm_query.h"
#include "source/engine_busy.h"
#include "source/sriov_files.h"

namespace igpu {

// Engines of an xe GPU: pairs of the events engine-active-ticks and engine-total-ticks of its PMU. An open xe event
// keeps the GPU out of C6 and D3, so the PMU is open only while the GPU works (see XeSleepWatch). While it is closed,
// the clients' time is counted.
//
// On a physical function with SR-IOV virtual functions enabled, the event of an engine counts for function 0, the
// host's own, and each virtual function has an event of its own. The engine's busy time is their sum.
class XeEnginesCollector final : public Collector {
 public:
  explicit XeEnginesCollector(const CollectorContext& context);
  void collect(ScrapePass& pass, SampleSink& out) override;
  void gpu_is_suspended() override;

 private:
  // Time from ticks, and its share of the window.
  struct BusyTime {
    BusyTime(MonotonicCounter& counter, Nanoseconds min_window) : nanoseconds(counter), window(min_window) {}
    // Adds `worked` of `passed` ticks, which took `elapsed` nanoseconds.
    void add(std::uint64_t worked, std::uint64_t passed, double elapsed);
    MonotonicCounter& nanoseconds;
    void advance(Nanoseconds time, std::uint64_t active, std::uint64_t total);
    EngineBusy in_time;
    CounterWindow<2> window;  // active, total
    std::optional<Ratio> ratio;
  };
  // One engine for one virtual function.
  struct VirtualShare {
    EventGain active;
    BusyTime busy;
  };
  struct Engine {
    Engine(const EngineInstance& engine, PmuSession& pmu, CounterMemory& memory, Nanoseconds min_window);
    std::string_view class_label() const { return names_of(engine_class).label; }
    EngineInstance instance;
    std::string gt;
    std::string name;
    EngineClass engine_class;
    EventGain active, total;
    BusyTime busy;                      // of all functions
    std::uint64_t own_nanoseconds = 0;  // of function 0, since the GPU was bound
    std::uint64_t beyond_total = 0;     // ticks of the whole engine that are not in the total of function 0
    std::vector<VirtualShare> functions;
  };

  Reading<Unit> find_engines();
  void follow_functions(SampleSink& out);
  void count_functions();
  Reading<Unit> try_pmu(ScrapePass& pass);
  void ask_node();
  bool take_ticks();
  ClientEngineTime::ByClass busy_by_class() const;
  ClientEngineTime::ByClass own_busy_by_class() const;
  void count_gap_before_pmu(ScrapePass& pass, Nanoseconds read_at);
  void close_pmu(ScrapePass& pass, SampleSink& out);
  void watch_clients(ScrapePass& pass, SampleSink& out);
  void read_pmu(ScrapePass& pass, SampleSink& out);
  void write_engines(bool with_ratios, SampleSink& out) const;
  void report_features(SampleSink& out) const;
  VfEngines vf_engines() const;
  std::optional<PmuSession::Handle> take_shares(std::vector<VfEngineTime>& times) const;

  Machine& machine_;
  const Gpu& gpu_;
  PmuSession& pmu_;
  CounterMemory& memory_;
  const Nanoseconds min_window_;
  const XeEngineSource source_;
  EnabledVfs enabled_vfs_;
  EnabledVfs::Counted functions_;        // the last that could be read
  Reading<std::uint32_t> enabled_ = 0U;  // as read in this scrape
  std::optional<double> hertz_;          // rate of the ticks, while functions are enabled; nullopt: not known
  bool asked_node_ = false;
  bool found_ = false;
  std::vector<Engine> engines_;
  bool undescribed_ = false;         // the PMU does not describe the events of all engines, so it is not used
  Reading<Unit> usable_ = Absent{};  // the outcome of the last attempt to open the PMU
  bool open_ = false;                // the PMU measures
  Nanoseconds last_time_{};          // in the PMU's own time
  std::uint64_t generation_ = 0;
  bool stepped_back_ = false;                            // at the last read some count of active ticks stepped back
  bool awaits_ratio_ = false;                            // the PMU has taken over and has no whole window yet
  bool clients_ratio_ = false;                           // in this scrape: write the ratios by class from clients_
  std::optional<Absent> hidden_;                         // why some clients are hidden while clients_ measures
  std::optional<ClientEngineTime::PmuCount> pmu_start_;  // set when the PMU has just taken over
  XeSleepWatch sleep_;
  ClientEngineTime clients_;
};

}  // namespace igpu
