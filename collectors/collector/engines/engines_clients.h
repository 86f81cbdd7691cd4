// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/counter_window.h"
#include "collector/collector.h"
#include "collector/engines/engines_facts.h"
#include "collector/shared/client_gains.h"

namespace igpu {

// Engine time by class, added up over all visible clients of a GPU: used when the PMU is not. A client's count
// disappears when it closes; what it gained up to the last scan is kept.
//
// Ratios continue when the source switches to the PMU and back: their windows cover the sum of both counts.
class ClientEngineTime {
 public:
  using ByClass = std::array<std::uint64_t, kEngineClasses>;

  // memory: the collector's; it keeps the totals when the device is rebound.
  ClientEngineTime(CounterMemory& memory, std::string_view device, Nanoseconds min_window);

  // Counts what the clients gained since the last scan; the first scan after construction or forget() only notes their
  // counts. True if any client worked.
  bool scan(const ClientSnapshot& snapshot);
  // The same of the clients of this pass, if they can be found; a failure is reported. True: they were found.
  bool scan(ScrapePass& pass, SampleSink& out);
  // Forgets the clients, because the PMU takes over.
  void forget();

  // What the PMU has counted since it took over, by class.
  struct PmuCount {
    ByClass nanoseconds{};
    Nanoseconds from{};   // when the PMU began to count; a little after the last scan
    Nanoseconds until{};  // when the PMU was read
  };
  // Called instead of forget(), shortly after the PMU took over. Counts the clients' work between the last scan and the
  // start of the PMU, which neither source has counted: their work since the scan, minus what the PMU has counted. Then
  // forgets the clients.
  void count_gap(const ClientSnapshot& snapshot, const PmuCount& pmu);
  // Called while the PMU measures: once at first, then at each reading. counted: the PMU's totals. spoiled: one of its
  // counts stepped back.
  void pmu_begins(const ByClass& counted) { pmu_counted_ = counted; }
  void pmu_measured(Nanoseconds now, const ByClass& counted, bool spoiled);
  // Starts over; the work since the last scan is lost.
  void skip_gap();
  // Sets the number of engines by class. Without this call only classes that clients report are known.
  void set_engines(const std::array<std::uint32_t, kEngineClasses>& engines) { engines_ = engines; }
  // Called while the GPU sleeps: all work of clients that are new at the next scan is later than `now`. Has no effect
  // after forget(), because the PMU may have measured part of that work.
  void note_sleep(Nanoseconds now) {
    if (!needs_baseline_) totals_.gains.note_sleep(now);
  }

  // Whether cycles wait for the clock's rate. A scan may provide it even while the PMU measures.
  bool awaits_rate() const;
  void use_rate(const ClientSnapshot& snapshot);

  // Engine time of both sources, for classes that the GPU has or a client has reported. counted: the PMU's totals.
  EngineSeconds total_with(const ByClass& counted) const;

  // Writes the classes that a client has reported or, if all clients are visible, all classes of the GPU: a class
  // without a working client is idle. Ratios are written only for classes that the last scan covered, and only if that
  // scan ended a window.
  void write(SampleSink& out, bool with_ratios) const;

 private:
  struct Gain {
    EngineTime time;
    bool spoiled = false;  // a counter stepped back: no ratio
    std::uint32_t capacity = 0;
    // Sum of the times at which the clients of the class were read: a walk takes a while, so they differ.
    Nanoseconds offsets{};
    std::uint32_t clients = 0;
  };
  struct ClassState {
    explicit ClassState(Nanoseconds min_window) : window(min_window) {}
    CounterWindow<1> window;  // nanoseconds, from clients and PMU
    std::uint64_t pmu = 0;    // the part of the window that the PMU counted, nanoseconds
    std::optional<Ratio> ratio;
    bool known = false;  // every client that could work on it was visible at the last scan
    // A series with value 0 exists: no client has reported the class, but it was known to be idle.
    bool has_zero = false;
  };
  // Survives rebinding.
  struct Totals {
    std::array<EngineTime, kEngineClasses> time{};
    std::array<bool, kEngineClasses> reported{};  // by any client
    ClientGains gains;
  };

  std::array<Gain, kEngineClasses> gather(const ClientSnapshot& snapshot);
  void add_gain(std::size_t engine_class, const Gain& gain, std::optional<double> hertz, Nanoseconds now);
  void advance(std::size_t engine_class, std::uint32_t capacity, Nanoseconds now);

  const std::string_view device_;
  Totals& totals_;
  std::array<ClassState, kEngineClasses> classes_;
  bool needs_baseline_ = false;  // after forget()
  std::array<std::uint32_t, kEngineClasses> engines_{};
  std::optional<ByClass> pmu_counted_;
};

}  // namespace igpu
