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
#include "source/gpu_access.h"
#include "source/gt_sysfs.h"
#include "source/pmu_session.h"

namespace igpu::sampling {

// Reads one GPU at every tick: its engines' PMU, clocks and throttle reasons, and its energy. Has a PMU session of its
// own, since a session belongs to one thread. Once everything is found, a reading allocates nothing. One thread.
//
// A GPU that sleeps, or that nobody uses, is not read (GpuAccess::power()). On xe the PMU is open only while the
// collectors have it open: they decide when an open event may keep the GPU out of its deepest sleep.
class GpuReader {
 public:
  GpuReader(Machine& machine, AccessibleGpu gpu);

  // Fills the frame. False: what was found has changed, and so has the layout.
  bool read(SampleFrame& frame);
  const FrameLayout& layout() const { return layout_; }
  const AccessibleGpu& gpu() const { return gpu_; }
  // Of the engines' PMU at the last reading; a value also while it is closed because the GPU is idle.
  const Reading<Unit>& outcome() const { return outcome_; }

 private:
  struct Engine {
    PmuSession::Handle active;
    std::optional<PmuSession::Handle> total;  // xe; i915 counts nanoseconds
    std::optional<std::uint64_t> last_active, last_total;
    std::uint64_t late = 0;  // counts that were published later than the time they belong to
  };
  // Energy of one domain: an event of RAPL, or files.
  struct Domain {
    std::optional<PmuSession::Handle> event;
    std::vector<Attribute> files;  // of all packages
    Watts most;                    // more than it draws
    std::optional<double> last_joules;
    Nanoseconds last_time{};
  };

  void find(Nanoseconds now);
  void find_engines();
  void find_gts();
  void find_domains();
  void add_files(std::string name, std::string_view source, Watts most, Attribute file);
  void read_engines(SampleFrame& frame);
  float busy_of(Engine& engine, Nanoseconds elapsed) const;
  void read_gts(SampleFrame& frame);
  void read_energy(SampleFrame& frame);
  std::optional<double> joules_of(Domain& domain) const;
  std::size_t reason_index(std::string_view reason);
  void rest();

  Machine& machine_;
  const AccessibleGpu gpu_;
  FrameLayout layout_;
  bool layout_changed_ = true;
  std::optional<Nanoseconds> find_at_;  // when what was not found is looked for again; nullopt: at once
  unsigned searches_ = 0;
  bool could_open_pmu_ = false;  // at the previous reading

  CounterMemory memory_;
  std::unique_ptr<PmuSession> pmu_;
  std::uint64_t pass_ = 0;
  std::uint64_t generation_ = 0;
  Nanoseconds pmu_time_{};
  Nanoseconds pmu_checked_at_{};
  std::vector<Engine> engines_;
  Reading<Unit> outcome_ = Unit{};
  std::optional<Nanoseconds> retry_pmu_at_;  // it was refused

  std::vector<GtSysfs> gts_;

  std::unique_ptr<PmuSession> rapl_;
  std::uint64_t rapl_generation_ = 0;
  std::vector<Domain> domains_;
  Nanoseconds energy_read_at_{};
};

}  // namespace igpu::sampling
