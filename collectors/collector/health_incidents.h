// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitset>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "igpu/engine_class.h"
#include "igpu/units.h"
#include "source/fault_text.h"

namespace igpu {

// Counts each hang of one GPU once, although the kernel writes up to four lines about it. Pure.
//
// Lines of the same hang follow each other within seconds, and none of them comes twice: a line that this hang has had
// already begins another hang, as does a line with the id of another queue. A hang is counted at the first line that
// has a kind. A reset of an engine alone has none: it also follows the normal end of a queue.
class HangIncidents {
 public:
  static constexpr Nanoseconds kWithin = std::chrono::seconds(5);

  struct Outcome {
    bool counted = false;          // the line adds a hang of this kind and class
    std::optional<HangKind> kind;  // of its hang
    std::optional<EngineClass> engine_class;
    std::optional<FaultProcess> process;  // known since this line
  };
  Outcome add(const FaultLine& line, Nanoseconds time);

 private:
  struct Incident {
    Nanoseconds last{};
    std::string gt;
    std::optional<std::uint32_t> queue;
    std::bitset<16> signs;
    std::optional<HangKind> kind;
    std::optional<EngineClass> engine_class;
    bool has_process = false;
  };
  Incident& incident_of(const FaultLine& line, Nanoseconds time);

  std::vector<Incident> recent_;  // oldest first
};

}  // namespace igpu
