// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "machine/device_users.h"
#include "machine/machine.h"
#include "source/client_finder.h"
#include "source/client_scan.h"
#include "source/client_walk.h"

namespace igpu {

// Finds DRM clients with the kernel's own account of who has a DRM node open, so that its cost does not depend on the
// processes without a GPU. The first scan lists all holders. After that a process is scanned when the kernel reports
// that it got a descriptor of a DRM node (opened, inherited, passed on), or when one of its known clients is gone;
// where the kernel cannot report that, holders are listed in each scan, and those with another number of DRM
// descriptors are scanned.
//
// They are listed again every kListAgain as well: dup2() and seccomp's ADDFD put a file into a table without a report,
// and only the latter brings one into a process that had none.
//
// ClientSnapshot::pids are the running processes that hold a client or held one. If the kernel refuses to list holders,
// the walk over /proc does the scan.
class BpfFinder final : public ClientFinder {
 public:
  static constexpr Nanoseconds kListAgain = std::chrono::minutes(5);

  BpfFinder(Machine& machine, DeviceUsers& holders, ClientWalk::Limits limits)
      : holders_(holders), scan_(machine, limits.time), walk_(machine, limits) {}

  Reading<ClientSnapshot> find(std::span<const std::string> asleep) override;

 private:
  // Nothing if the kernel refuses.
  std::optional<std::vector<std::uint32_t>> list(bool needed);
  void follow(std::span<const std::uint32_t> listed, std::span<const std::uint32_t> changed);

  DeviceUsers& holders_;
  ClientScan scan_;
  ClientWalk walk_;
  std::optional<Nanoseconds> listed_;
};

}  // namespace igpu
