// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "igpu/engine_class.h"
#include "igpu/units.h"
#include "source/fault_text.h"

namespace igpu {

// Who reports the lines of a hang.
enum class FaultSource : std::uint8_t { kernel_log, queue_events };
inline constexpr std::size_t kFaultSources = 2;

// Counts each hang of one GPU once, although the kernel writes up to four lines about it, and several sources report
// it. Pure.
//
// Lines of the same hang follow each other within seconds, and none of them comes twice from one source: a line that
// this hang has had already begins another hang, as does a line with the id of another queue. A hang is counted at the
// first line that has a kind. A reset of an engine alone has none: it also follows the normal end of a queue.
//
// The sources have different clocks, which drift apart by seconds in days, so times of different sources are not
// compared. A line belongs to a hang that only another source has reported if both name the same queue, in the same
// scrape or in two that follow each other: whichever source is read first, the other one may be a scrape late.
class HangIncidents {
 public:
  static constexpr Nanoseconds kWithin = std::chrono::seconds(5);

  struct Outcome {
    bool counted = false;          // the line adds a hang of this kind and class
    std::optional<HangKind> kind;  // of its hang
    std::optional<EngineClass> engine_class;
    std::optional<FaultProcess> process;  // known since this line
  };
  void begin_scrape() { ++scrape_; }
  Outcome add(const FaultLine& line, Nanoseconds time, FaultSource source);

 private:
  struct Report {  // of one source
    std::optional<Nanoseconds> last;
    std::bitset<16> signs;
  };
  struct Incident {
    std::array<Report, kFaultSources> by;
    std::uint64_t scrape = 0;  // of the last line
    std::optional<std::uint32_t> gt, queue;
    std::optional<HangKind> kind;
    std::optional<EngineClass> engine_class;
    std::optional<FaultProcess> process;
    bool process_is_told = false;
  };
  Incident& incident_of(const FaultLine& line, Nanoseconds time, std::size_t source);
  bool is_over(const Incident& incident, Nanoseconds time, std::size_t source) const;

  std::vector<Incident> recent_;  // oldest first
  std::uint64_t scrape_ = 0;
};

}  // namespace igpu
