// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "igpu/reading.h"
#include "machine/filesystem.h"
#include "source/pmu_format.h"

namespace igpu {

// What sysfs says about one perf PMU, below bus/event_source/devices/<pmu>.
class PmuDescription {
 public:
  using Terms = std::vector<std::pair<std::string, std::uint64_t>>;

  // sys must outlive the object.
  PmuDescription(const Directory& sys, std::string_view pmu);

  struct Identity {
    Reading<std::uint32_t> type;     // the number for perf_event_attr
    bool may_be_another_pmu = true;  // than at the last call
  };
  Identity identify();

  // Names in events/, without .unit and .scale; sorted. Absent if the kernel has no such PMU.
  Reading<std::vector<std::string>> events() const;

  struct Event {
    Reading<std::uint64_t> config = Absent{Reason::kernel, ENOENT};
    std::optional<double> scale;
    // A step back of at most this much is an estimate that is being corrected (GuC busyness of i915, in-progress ticks
    // of xe): a second in either unit. Anything else only steps back when it was reset.
    std::uint64_t largest_correction = 0;
  };
  Event describe(const std::string& event, const Terms& terms, const std::vector<PmuField>& fields) const;
  std::vector<PmuField> fields() const;

  // The CPUs on which its events are to be opened.
  std::vector<int> cpus() const;

 private:
  Reading<std::uint32_t> open_type();
  Reading<std::uint64_t> config_of(const std::string& event, const Terms& terms,
                                   const std::vector<PmuField>& fields) const;

  const Directory& sys_;
  const std::string name_;
  const std::string directory_;
  std::unique_ptr<File> type_file_;  // kept open
  std::uint32_t type_ = 0;
};

}  // namespace igpu
