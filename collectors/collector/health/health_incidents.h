// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "igpu/device.h"
#include "igpu/units.h"
#include "kernel/faults/fault_text.h"

namespace igpu {

// A queue of a GPU. The firmware of each GT assigns the ids, so queues of two GTs may have the same id.
struct GtQueue {
  std::uint32_t id = 0;
  std::optional<std::uint32_t> gt;  // nullopt: not reported

  bool may_be(const GtQueue& other) const { return id == other.id && (!gt || !other.gt || gt == other.gt); }
  friend bool operator<(const GtQueue& a, const GtQueue& b) { return std::tie(a.id, a.gt) < std::tie(b.id, b.gt); }
};

template <class T>
using ByQueue = std::map<GtQueue, T>;

// Calls visit(iterator) for each entry that may belong to this queue: at most one for each GT, and one for an unknown
// GT.
template <class Map, class Visit>
void for_each_of(Map& known, const GtQueue& queue, Visit&& visit) {
  for (auto place = known.lower_bound({queue.id, std::nullopt}); place != known.end() && place->first.id == queue.id;) {
    const auto found = place++;
    if (found->first.may_be(queue)) visit(found);
  }
}

// The source that reported a line about a hang.
enum class FaultSource : std::uint8_t { kernel_log, queue_events };
inline constexpr std::size_t kFaultSources = 2;

// Counts each hang of one GPU once, although the kernel writes up to four lines about it, and several sources report
// it. Pure. The cost of a line does not grow with the number of lines.
//
// Lines of the same hang follow each other within seconds, and a source repeats only those of page faults and of
// firmware that does not answer. So any other line that the hang already has from this source begins another hang, as
// does a line with the id of another queue. A line without a kind begins no hang. The reset of an engine has none,
// because it also follows the normal end of a queue; it only adds its class and its process to a hang of the same
// queue. A job timeout may come later than what else names its queue: before it xe waits up to 5 s for the firmware.
//
// The sources have different clocks, which drift apart by seconds in days, so times of different sources are not
// compared. A line belongs to a hang that only another source has reported if both name the same queue, or if one of
// them names no queue and the GT is the same, in the same or in consecutive scrapes. In each scrape, add the lines of
// the kernel log first: their order shows to which hang a line without a queue belongs.
class HangIncidents {
 public:
  static constexpr Nanoseconds kWithin = std::chrono::seconds(5);
  static constexpr Nanoseconds kWithinQueue = std::chrono::seconds(10);  // before a job timeout of the same queue

  struct Change {
    HangKind kind{};
    std::optional<EngineClass> engine_class;
    std::optional<GtQueue> queue;
    bool counted = false;                 // a new hang of this kind and class
    std::optional<FaultProcess> process;  // first known since the last call; a hang names at most one process
    Nanoseconds age{};                    // the age that was passed with the first line
  };
  struct Added {
    bool begins = false;  // the line begins a hang
    // Of the hang that the line belongs to; nullopt: of none. What ends firmware that does not answer, such as a reset,
    // keeps its own kind, because it is why programs lose their work.
    std::optional<HangKind> kind;
  };

  void begin_scrape(Nanoseconds now);
  // time: on the clock of the source. age: returned in Change.
  Added add(const FaultLine& line, Nanoseconds time, FaultSource source, Nanoseconds age);
  // The changes since the last call. Call it after the lines of all sources were added.
  std::vector<Change> take_changes();
  // Lines added after this call belong to no earlier hang.
  void forget();

 private:
  struct Report {  // of one source
    std::optional<Nanoseconds> last;
    std::bitset<16> signs;
    std::optional<FaultProcess> process;
  };
  struct Incident {
    std::array<Report, kFaultSources> by;
    std::uint64_t scrape = 0;  // of the last line
    Nanoseconds read_at{};
    Nanoseconds age{};  // of the first line
    std::optional<std::uint32_t> gt, queue;
    HangKind kind{};
    std::optional<EngineClass> engine_class;
    bool is_changed = false, is_counted = false, process_is_told = false;
  };
  struct EngineReset {  // the last one of a queue
    std::size_t source = 0;
    Nanoseconds time{}, read_at{};
    std::uint64_t scrape = 0;
    std::optional<EngineClass> engine_class;
    std::optional<FaultProcess> process;
  };
  bool fits(const Incident& incident, const FaultLine& line, Nanoseconds time, std::size_t source) const;
  Incident* incident_of(const FaultLine& line, Nanoseconds time, std::size_t source);
  Incident* of_same_queue(const FaultLine& line, Nanoseconds time, std::size_t source);
  Incident& new_incident(HangKind kind, Nanoseconds age, std::size_t source);
  void give_queue(Incident& incident, std::uint32_t queue);
  void add_engine_reset(Incident& incident, std::size_t source, Nanoseconds time);
  void forget_reported_by(std::size_t source);
  void find_queues();
  void settle(Incident& incident);

  std::vector<Incident> recent_;                                          // oldest first
  std::unordered_map<std::uint32_t, std::vector<std::size_t>> of_queue_;  // indices into recent_, ascending
  ByQueue<EngineReset> engine_resets_;
  std::vector<Change> settled_;  // of incidents that have left recent_
  std::uint64_t scrape_ = 0;
  Nanoseconds now_{};
};

}  // namespace igpu
