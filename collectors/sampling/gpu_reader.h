// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "machine/machine.h"
#include "sampling/frame.h"
#include "source/attribute.h"
#include "source/drm_query.h"
#include "source/gpu_access.h"
#include "source/gt_sysfs.h"
#include "source/pmu_session.h"
#include "source/sriov_files.h"

namespace igpu::sampling {

// Reads one GPU at every tick: its engines' PMU, clocks and throttle reasons, and its energy. Has a PMU session of its
// own, since a session belongs to one thread. Once everything is found, a reading allocates nothing. One thread.
//
// A GPU goes to sleep as it does without this. One that sleeps is not read. Of one that is awake, what may take a
// reference to its power, and so restart its idle timer, is read only while something else keeps it awake: throttle
// reasons, hwmon, and clocks of xe. The PMU of i915 takes none (i915_pmu.c), its clocks only of a GPU that is in use
// (intel_rps.c). The PMU of xe does while it is open (xe_pmu.c); it is open only while the collectors have it open:
// they decide when it may keep the GPU out of its deepest sleep.
class GpuReader {
 public:
  GpuReader(Machine& machine, AccessibleGpu gpu);

  // Fills the frame. False: what was found has changed, and so has the layout.
  bool read(SampleFrame& frame);
  const FrameLayout& layout() const { return layout_; }
  const AccessibleGpu& gpu() const { return gpu_; }
  // Of the engines' PMU when it was last read, a value only if it counts engines; nullopt: it has not been read since
  // the GPU was bound, or since it was closed.
  const std::optional<Reading<Unit>>& outcome() const { return outcome_; }

 private:
  struct Engine {
    PmuSession::Handle active;
    std::optional<PmuSession::Handle> total;  // xe; i915 counts nanoseconds
    std::optional<std::uint64_t> last_active, last_total;
    std::uint64_t late = 0;                       // counts that were published later than the time they belong to
    EngineInstance instance{};                    // xe
    std::vector<PmuSession::Handle> functions{};  // active ticks of each virtual function that is enabled
    void restart() {
      last_active.reset();
      last_total.reset();
      late = 0;
    }
  };
  // Energy of one domain: an event of RAPL, or files.
  struct Domain {
    std::optional<PmuSession::Handle> event;
    std::vector<Attribute> files;  // of all packages
    Watts most;                    // more than it draws
    std::optional<double> last_joules;
    Nanoseconds last_time{};
  };

  // What a driver creates late, or a permission that is granted later, is looked for again and again for a minute.
  struct Search {
    bool is_due(Nanoseconds now);
    unsigned done = 0;
    Nanoseconds next = Nanoseconds::min();
  };

  // Whether the PMU's state allows that it is open.
  bool pmu_may_be_open() const { return gpu_.gpu.driver == Driver::i915 || gpu_.access->pmu_is_open(); }
  bool stays_awake(const PowerLook& look, const SampleFrame& frame);
  void find_engines_in_time(Nanoseconds now);
  void find_engines();
  void follow_functions();
  static std::optional<std::uint64_t> active_of(const Engine& engine, const PmuSession::Values& values);
  void find_gts();
  void list_throttle_reasons();
  void find_domains();
  void add_files(std::string name, std::string_view source, Watts most, Attribute file);
  void read_engines(SampleFrame& frame);
  float busy_of(Engine& engine, const PmuSession::Values& values, Nanoseconds elapsed) const;
  bool may_have_clock(const SampleFrame& frame) const;
  void read_gts(SampleFrame& frame, bool stays_awake);
  void read_energy(SampleFrame& frame);
  std::optional<double> joules_of(Domain& domain) const;
  std::size_t reason_index(std::string_view reason);
  void rest();

  Machine& machine_;
  const AccessibleGpu gpu_;
  FrameLayout layout_;
  bool layout_changed_ = true;
  Search engine_search_, gt_search_, domain_search_;
  bool could_open_pmu_ = false;             // at the previous reading
  std::optional<Nanoseconds> users_since_;  // at every look since then the GPU's power had users

  CounterMemory memory_;
  std::unique_ptr<PmuSession> pmu_;
  std::uint64_t pass_ = 0;
  std::uint64_t generation_ = 0;
  Nanoseconds pmu_time_{};
  Nanoseconds pmu_checked_at_{};
  // Of a physical function of xe, whose engines work for its virtual functions as well.
  EnabledVfs enabled_vfs_;
  EnabledVfs::Counted functions_;
  std::optional<double> hertz_;  // of the ticks, while functions are enabled
  std::vector<Engine> engines_;
  std::optional<Reading<Unit>> outcome_;
  std::optional<Nanoseconds> retry_pmu_at_;  // it was refused

  std::vector<GtSysfs> gts_;
  bool listed_reasons_ = false;

  std::unique_ptr<PmuSession> rapl_;
  std::uint64_t rapl_generation_ = 0;
  std::optional<Nanoseconds> retry_rapl_at_;  // it was refused
  std::vector<Domain> domains_;
  Nanoseconds energy_read_at_{};
};

}  // namespace igpu::sampling
