// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace igpu {

// When to scan for files that do not change while a GPU is bound. A driver makes them one after the other, the DRM
// nodes by which we find it not the last, so the first scan may come too early; and some files belong to drivers that
// may be loaded later. Hence: at the first two scrapes, and now and then as long as nothing was found.
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
