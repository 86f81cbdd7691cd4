// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/counter_window.h"
#include "base/monotonic_counter.h"
#include "base/scan_schedule.h"
#include "collector/collector.h"
#include "metric/feature_report.h"
#include "source/hwmon_files.h"
#include "source/powercap.h"

namespace igpu {

// Energy and power. Integrated GPU: RAPL, through the `power` PMU if permitted, and through powercap for domains that
// the PMU lacks, each domain from one source. Card: its hwmon energy counters, which advance only when read.
//
// A counter that reads 0 has never counted: the hardware does not update its register (card energy on Battlemage under
// Linux 6.14; psys on many boards, which have the event nevertheless), or its source is missing (later kernels without
// PMT). It is left out until it counts.
class PowerCollector final : public Collector {
 public:
  static constexpr Metric<Joules, 3> kEnergy{
      "intel_gpu_energy_joules_total",
      Kind::counter,
      "Energy used. Integrated GPU: RAPL domains (package and psys include gpu: do not "
      "add them up). Card: card and package.",
      {"device", "domain", "source"}};
  static constexpr Metric<Watts, 3> kPower{
      "intel_gpu_power_watts", Kind::gauge, "Mean power over the window.", {"device", "domain", "source"}};
  static constexpr std::array<KernelAbsence, 2> kNoPower{{
      {Driver::i915, GpuKind::discrete, "this kernel's i915 driver has no energy counter of the card in hwmon",
       "Linux 6.2 or newer, with CONFIG_HWMON"},
      {Driver::xe, GpuKind::discrete, "this kernel's xe driver has no energy counter of the card in hwmon",
       "Linux 6.8 or newer, with CONFIG_HWMON"},
  }};
  static const CollectorInfo kInfo;
  explicit PowerCollector(const CollectorContext& context);
  void collect(ScrapePass& pass, SampleSink& out) override;
  Nanoseconds read_within() const override;

 private:
  struct PmuDomain {
    std::string_view domain;
    PmuSession::Handle handle;
    CounterWindow<1> window;
    MonotonicCounter& total;  // sum of the event's counts, without implausible ones
  };
  // A domain read from files: the zones of all packages, or one hwmon channel.
  struct FileDomain {
    std::string domain;
    struct Part {
      std::string key;
      Attribute energy;
      std::uint64_t range;
      MonotonicCounter& total;  // microjoules
      bool has_counted = false;
    };
    std::vector<Part> parts;
    CounterWindow<1> window;
    bool has_counted = false;
    bool is_read = false;  // no other source has this domain
  };
  struct Energy {
    std::uint64_t microjoules = 0;
    bool held = false;  // of at least one part: no window ends here
  };
  void find_sources();
  void add_pmu_domain(std::string_view domain, std::string_view event);
  void add_file_part(std::vector<FileDomain>& domains, std::string_view domain, const std::string& key,
                     Attribute energy, std::uint64_t range);
  void collect_pmu(ScrapePass& pass, SampleSink& out, FeatureReport& report, std::vector<std::string_view>& reported);
  void collect_files(std::vector<FileDomain>& domains, std::string_view source, Watts most, ScrapePass& pass,
                     SampleSink& out, FeatureReport& report, const std::vector<std::string_view>& reported);

  std::optional<Energy> read(FileDomain& domain, Watts most, ScrapePass& pass, FeatureReport& report);

  Machine& machine_;
  const Gpu& gpu_;
  CounterMemory& memory_;
  const Nanoseconds min_window_;
  ScanSchedule scans_;
  std::unique_ptr<PmuSession> rapl_;
  std::uint64_t rapl_generation_ = 0;
  std::vector<PmuDomain> pmu_domains_;
  std::vector<FileDomain> powercap_;
  std::vector<FileDomain> hwmon_;
  std::optional<Failure> unreadable_;  // a label of hwmon
  Watts card_power_{};                 // the maximum power of the card
};

}  // namespace igpu
