// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace igpu {

// When to scan for files that do not change while a GPU is bound. The first scan may be too early, because a driver
// creates some files after the DRM nodes by which the GPU is found, and others belong to drivers that are loaded later.
// So scans run at the first two scrapes, and at every kInterval-th while nothing was found.
class ScanSchedule {
 public:
  // Call once per scrape.
  bool due(bool found) {
    ++scrapes_;
    return scrapes_ <= 2 || (!found && scrapes_ % kInterval == 0);
  }

 private:
  static constexpr unsigned kInterval = 16;
  unsigned scrapes_ = 0;
};

}  // namespace igpu
