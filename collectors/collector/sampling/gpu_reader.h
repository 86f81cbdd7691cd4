// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "collector/sampling/frame.h"
#include "kernel/clients/gpu_access.h"
#include "kernel/device/drm_query.h"
#include "kernel/pmu/energy_sources.h"
#include "kernel/pmu/engine_events.h"
#include "kernel/pmu/pmu_session.h"
#include "kernel/sriov/sriov_files.h"
#include "kernel/sysfs/gt_sysfs.h"
#include "machine/machine.h"

namespace igpu::sampling {

// Reads one GPU at every tick: its engines' PMU, clocks and throttle reasons, and its energy. Has a PMU session of its
// own, since a session belongs to one thread. Once everything is found, a reading allocates nothing. One thread.
//
// The GPU goes to sleep as it would without the sampler. A sleeping GPU is not read. Some reads take a reference to the
// GPU's power and so restart its idle timer: those of throttle reasons, hwmon and xe's clocks. They are made only while
// something else keeps the GPU awake. The PMU of i915 takes no reference (i915_pmu.c), and a read of its clocks takes
// one only if the GPU is in use (intel_rps.c). The PMU of xe holds a reference while it is open (xe_pmu.c). It is
// opened only while the collectors have it open, because they decide when it may keep the GPU out of its deepest sleep.
class GpuReader {
 public:
  GpuReader(Machine& machine, AccessibleGpu gpu);

  // Fills the frame. Returns false if the layout has changed since the last call.
  bool read(SampleFrame& frame);
  const FrameLayout& layout() const { return layout_; }
  const AccessibleGpu& gpu() const { return gpu_; }
  // The outcome of the last read of the engines' PMU: a value only if it counts engines. nullopt: it was not read since
  // the GPU was bound or the PMU was closed.
  const std::optional<Reading<Unit>>& outcome() const { return outcome_; }

 private:
  struct Engine {
    EventGain active;
    std::optional<EventGain> total;  // xe; i915 counts nanoseconds
    EngineInstance instance{};       // xe
    EngineBusy busy{};
    std::vector<EventGain> functions{};  // active ticks of each virtual function that is enabled
    void restart() {
      active.restart();
      busy.restart();
    }
  };
  // Power of one domain, by EnergySources::domains().
  struct Domain {
    std::optional<std::size_t> index;      // in the layout, once it is read; kDomains: there is no room for it
    std::uint64_t last_count = 0;          // at the last usable reading
    std::optional<Nanoseconds> last_time;  // of it
  };

  // Repeats a search for a minute: drivers create files late, and a permission may be granted later.
  struct Search {
    bool is_due(Nanoseconds now);
    unsigned done = 0;
    Nanoseconds next = Nanoseconds::min();
  };

  // Whether this reader may have the PMU open now.
  bool pmu_may_be_open() const { return gpu_.gpu.driver == Driver::i915 || gpu_.access->pmu_is_open(); }
  bool stays_awake(const PowerStatus& power, const SampleFrame& frame);
  void find_engines_in_time(Nanoseconds now);
  void find_engines();
  void follow_functions();
  void find_gts();
  void list_throttle_reasons();
  void read_engines(SampleFrame& frame);
  float busy_of(Engine& engine, const PmuSession::Values& values, Nanoseconds elapsed) const;
  bool may_have_clock(const SampleFrame& frame) const;
  void read_gts(SampleFrame& frame, bool stays_awake);
  void read_energy(SampleFrame& frame);
  std::size_t domain_index(const EnergySources::Domain& domain);
  std::size_t reason_index(std::string_view reason);
  void stop_reading();

  Machine& machine_;
  const AccessibleGpu gpu_;
  FrameLayout layout_;
  bool layout_changed_ = true;
  Search engine_search_, gt_search_, domain_search_;
  bool could_open_pmu_ = false;             // at the previous reading
  std::optional<Nanoseconds> users_since_;  // since then every check has found users of the GPU's power

  CounterMemory memory_;
  std::unique_ptr<PmuSession> pmu_;
  std::uint64_t pass_ = 0;
  std::uint64_t generation_ = 0;
  Nanoseconds pmu_time_{};
  Nanoseconds pmu_checked_at_{};
  // For a physical function of xe: its engines also work for its virtual functions.
  EnabledVfs enabled_vfs_;
  EnabledVfs::Counted functions_;
  std::optional<double> hertz_;  // of the ticks, while functions are enabled
  std::vector<Engine> engines_;
  std::optional<Reading<Unit>> outcome_;
  std::optional<Nanoseconds> retry_pmu_at_;  // set when the kernel refused to open it

  std::vector<GtSysfs> gts_;
  bool listed_reasons_ = false;

  EnergySources energy_;
  std::vector<Domain> domains_;
  Nanoseconds energy_read_at_{};
};

}  // namespace igpu::sampling
