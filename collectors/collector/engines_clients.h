// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>

#include "base/clock_rate.h"
#include "base/counter_window.h"
#include "collector/collector.h"
#include "collector/shared/client_engine_counter.h"

namespace igpu {

// Engine time by class, added up over all clients of a GPU that are visible to us: what is known without the PMU. A
// client's count disappears when it closes; what it gained up to the last scan stays.
//
// Ratios continue when the source switches to the PMU and back: their windows cover the sum of both counts.
class ClientEngineTime {
 public:
  using ByClass = std::array<std::uint64_t, kEngineClasses>;

  // memory: the collector's; the totals stay there when the device is rebound.
  ClientEngineTime(CounterMemory& memory, std::string_view device, Nanoseconds min_window);

  // Counts what the clients gained since the last scan; the first scan after construction or forget() only notes where
  // they are. Whether any of them did something.
  bool scan(const ClientSnapshot& snapshot);
  // The PMU takes over.
  void forget();

  // What the PMU has counted since it took over, by class.
  struct PmuCount {
    ByClass nanoseconds{};
    Nanoseconds from{};   // when it began; a little after our last scan
    Nanoseconds until{};  // when it was read
  };
  // Instead of forget(), shortly after the PMU took over: counts what the clients did between the last scan and the
  // start of the PMU, which neither has counted: their work since the scan, minus what the PMU has counted. Then
  // forgets.
  void count_gap(const ClientSnapshot& snapshot, const PmuCount& pmu);
  // The PMU measures. counted: its totals. spoiled: one of its counts stepped back.
  void pmu_begins(const ByClass& counted) { pmu_counted_ = counted; }
  void pmu_measured(Nanoseconds now, const ByClass& counted, bool spoiled);
  // Nobody has counted the work since the last scan.
  void lost();
  // How many engines of each class the GPU has, 0 for none: without it the classes are known from clients only.
  void know_engines(const std::array<std::uint32_t, kEngineClasses>& engines) { engines_ = engines; }
  // The rate of the GPU's clock, if the driver reports it: otherwise it is learned from scan to scan.
  void know_clock(double hertz) { clock().know(hertz); }
  // The GPU sleeps: it does no work, and its clock stands still. All work of clients that are new at the next scan is
  // later than this. Not after forget(): the PMU has measured up to some time before.
  void asleep(Nanoseconds now);

  // Cycles wait until the clock's rate is known; it is learned here, too, while the PMU measures.
  bool awaits_rate() const;
  void learn_rate(const ClientSnapshot& snapshot);

  // Of both sources together, given what the PMU has counted: the classes that the GPU has, or a client reported.
  EngineSeconds total_with(const ByClass& counted) const;

  // The classes that a client has reported; where all clients are visible, all classes that the GPU has: what no client
  // works on is idle. Ratios only after a scan that had a window, and only of classes that it covered.
  void write(SampleSink& out, bool with_ratios) const;

 private:
  struct Client {
    std::array<ClientEngineCounter, kEngineClasses> engines;
    std::uint32_t pid = 0;
    Nanoseconds seen{};
  };
  struct Gain {
    std::uint64_t nanoseconds = 0;
    std::uint64_t cycles = 0;
    bool spoiled = false;  // a counter stepped back: no ratio
    std::uint32_t capacity = 0;
    // When the clients that report the class were read: a walk takes its time.
    Nanoseconds offsets{};
    std::uint32_t clients = 0;
  };
  struct ClassState {
    explicit ClassState(Nanoseconds min_window) : window(min_window) {}
    std::uint64_t cycles = 0;  // not converted yet: the clock's rate is unknown
    CounterWindow<1> window;   // nanoseconds, from clients and PMU
    std::uint64_t pmu = 0;     // nanoseconds of the PMU in it
    std::optional<Ratio> ratio;
    bool known = false;     // every client that could work on it was visible at the last scan
    bool has_zero = false;  // no client has reported it, but it was known to be idle
  };
  // Survives rebinding.
  struct Totals {
    std::array<std::uint64_t, kEngineClasses> nanoseconds{};
    std::array<bool, kEngineClasses> reported{};  // by any client
    ClockRate clock;
  };

  static bool has_been_given_again(const Client& state, const DrmClient& client, const ClientSnapshot& snapshot);
  std::array<Gain, kEngineClasses> gather(const ClientSnapshot& snapshot);
  void add_client(const DrmClient& client, bool is_new, Nanoseconds elapsed, Client& state,
                  std::array<Gain, kEngineClasses>& gains);
  void take(std::size_t engine_class, const Gain& gain, Nanoseconds now);
  void advance(std::size_t engine_class, std::uint32_t capacity, Nanoseconds now);
  ClockRate& clock() { return totals_.clock; }

  const std::string_view device_;
  Totals& totals_;
  std::array<ClassState, kEngineClasses> classes_;
  std::map<std::uint64_t, Client> clients_;  // by drm-client-id
  std::optional<Nanoseconds> last_scan_;
  bool last_was_complete_ = false;
  bool needs_baseline_ = false;  // after forget()
  std::array<std::uint32_t, kEngineClasses> engines_{};
  std::optional<ByClass> pmu_counted_;
};

}  // namespace igpu
