// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/monotonic_counter.h"
#include "igpu/device.h"
#include "igpu/reading.h"
#include "igpu/units.h"
#include "kernel/pmu/pmu_session.h"
#include "kernel/sysfs/attribute.h"
#include "machine/filesystem.h"
#include "machine/machine.h"

namespace igpu {

// RAPL energy through powercap (Documentation/ABI/testing/sysfs-class-powercap, drivers/powercap/): the fallback where
// access to the `power` PMU is denied. energy_uj is 0400 since 5.10.

struct PowercapZone {
  std::string_view domain;  // gpu (the zone named uncore), package, cores, dram, psys
  std::string path;         // "class/powercap/intel-rapl:0:1"
  Attribute energy;         // microjoules
  std::uint64_t range = 0;  // max_energy_range_uj: the count wraps there; 0 if unknown
};

// More than any RAPL domain draws; used to distinguish a wraparound of its counter from a reset.
inline constexpr Watts kMostRaplPower{1000};
// The time in which a counter with this range wraps around once at that power.
Nanoseconds powercap_lap(std::uint64_t range);

// Zones of all packages. intel-rapl-mmio is left out: it shows the package a second time.
std::vector<PowercapZone> powercap_zones(const Directory& sys);

// The energy counters of a GPU. Integrated GPU: RAPL, through the `power` PMU if permitted, and through powercap for
// domains that the PMU lacks. Card: its hwmon energy counters, which advance only when read. A domain is read from one
// source at a time, and a PMU that fails once is not replaced: powercap counts the same joules. Sources:
// arch/x86/events/rapl.c, drivers/powercap/, drivers/gpu/drm/i915/i915_hwmon.c, xe/xe_hwmon.c. One thread.
//
// A counter that reads 0 has never counted: the hardware does not update its register (card energy on Battlemage under
// Linux 6.14; psys on many boards, which have the event nevertheless), or its source is missing (later kernels without
// PMT).
class EnergySources {
 public:
  // A counter of one domain: an event, the zones of all packages, or one hwmon channel.
  struct Domain {
    std::string name;         // gpu, package, cores, dram, psys, card
    std::string_view source;  // rapl_pmu, powercap, hwmon
    Watts most{};             // upper bound of its power
    // By the last read(). Nothing: another source has this domain, or the PMU as a whole had no value.
    std::optional<Reading<Unit>> outcome;
    Nanoseconds time{};       // of the reading
    std::uint64_t count = 0;  // of all its parts; only grows
    double counts_per_joule = 1;
    bool has_counted = false;
    bool held = false;       // of at least one part the reading was not usable: no window ends here
    bool restarted = false;  // no window may have begun before this reading

    double joules(std::uint64_t counts) const { return static_cast<double>(counts) / counts_per_joule; }

   private:
    friend class EnergySources;
    struct Part {
      std::string key;
      std::optional<PmuSession::Handle> event;
      std::optional<Attribute> file;  // if it is no event
      std::uint64_t range;            // the count wraps there; 0: it does not
      MonotonicCounter& total;
      bool has_counted = false;
      Nanoseconds retry_at{};
    };
    std::vector<Part> parts_;
    bool is_new_ = false;  // a part of it has not been read
  };

  // What is not permitted is tried again after this time.
  EnergySources(Machine& machine, CounterMemory& memory, const Gpu& gpu, Nanoseconds retry_after = {});

  // Looks for what is not known yet.
  void find();
  bool found() const { return !domains_.empty(); }
  bool has_events() const { return has_events_; }
  // A label of hwmon could not be read: whose energy it is, is not known.
  const std::optional<Failure>& unreadable() const { return unreadable_; }

  void read(std::uint64_t pass);
  // In the order in which they were found.
  const std::vector<Domain>& domains() const { return domains_; }
  // Of the PMU, by the last read(); nothing: it has no event.
  const std::optional<Reading<Unit>>& pmu_outcome() const { return pmu_outcome_; }
  // The time in which the first counter wraps around. The kernel handles wraparounds of the PMU's.
  Nanoseconds lap() const;

 private:
  void add_part(std::string_view domain, std::string_view source, Watts most, std::string key,
                std::optional<PmuSession::Handle> event, std::optional<Attribute> file, std::uint64_t range);
  void read(Domain& domain, Nanoseconds begin);
  Reading<std::uint64_t> count_of(Domain& domain, Domain::Part& part, Nanoseconds now);
  bool has_other_source(const Domain& domain) const;

  Machine& machine_;
  CounterMemory& memory_;
  const Gpu gpu_;
  const Nanoseconds retry_after_;
  std::unique_ptr<PmuSession> rapl_;
  std::uint64_t rapl_generation_ = 0;
  Nanoseconds retry_rapl_at_{};
  bool has_events_ = false;
  std::optional<Reading<Unit>> pmu_outcome_;
  std::vector<Domain> domains_;
  std::optional<Failure> unreadable_;
};

}  // namespace igpu
