// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "igpu/device.h"
#include "igpu/units.h"
#include "metric/sample_sink.h"

namespace igpu {

// One scrape, as seen by the parts of the collector `health`.
struct HealthScrape {
  Nanoseconds now{};
  std::span<const Gpu> gpus;            // bound and chosen
  std::span<const std::string> asleep;  // PCI addresses: read nothing that resumes these
  std::set<std::string, std::less<>> faulted =
      {};  // PCI addresses of GPUs for which a channel reported a fault in this scrape

  bool is_awake(std::string_view address) const { return std::ranges::find(asleep, address) == asleep.end(); }
  bool just_faulted(std::string_view address) const { return faulted.contains(address); }
};

// Files that change so seldom that they are read every 20 seconds, and at once after a fault.
class SlowSchedule {
 public:
  static constexpr Nanoseconds kEvery = std::chrono::seconds(20);

  // Makes the next call of is_due() for this device a first call.
  void forget(std::string_view device) {
    if (const auto known = read_.find(device); known != read_.end()) read_.erase(known);
  }

  // True at the first call for this device, and whenever its files must be read again. The caller then reads them.
  bool is_due(std::string_view device, bool just_faulted, Nanoseconds now) {
    const auto known = read_.find(device);
    if (known == read_.end()) {
      read_.emplace(device, now);
      return true;
    }
    if (!just_faulted && now - known->second < kEvery) return false;
    known->second = now;
    return true;
  }

 private:
  std::map<std::string, Nanoseconds, std::less<>> read_;
};

}  // namespace igpu
