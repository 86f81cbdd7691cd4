// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "kernel/clients/client_finder.h"
#include "kernel/clients/client_scan.h"
#include "kernel/clients/client_walk.h"
#include "machine/device_users.h"
#include "machine/machine.h"

namespace igpu {

// Finds DRM clients through BPF programs that report which processes have a DRM node open. The cost does not depend on
// processes without a GPU client.
//
// The first scan lists all holders. Later scans cover a process when the kernel reports that it got a descriptor of a
// DRM node (opened, inherited or received), or when one of its known clients is gone. If the kernel cannot report
// that, each scan lists the holders and covers those whose number of DRM descriptors changed.
//
// A descriptor that a process gets by dup2() or SECCOMP_ADDFD is not reported, so the holders are listed again every
// kListAgain. Only SECCOMP_ADDFD can give a descriptor to a process without one.
//
// ClientSnapshot::pids are the running processes that hold or held a client. If the kernel refuses to list holders,
// the walk over /proc takes over.
class BpfFinder final : public ClientFinder {
 public:
  static constexpr Nanoseconds kListAgain = std::chrono::minutes(5);

  BpfFinder(Machine& machine, DeviceUsers& holders, ClientWalk::Limits limits)
      : holders_(holders), scan_(machine, limits.time), walk_(machine, limits) {}

  Reading<ClientSnapshot> find(std::span<const std::string> asleep) override;

 private:
  void follow(std::span<const std::uint32_t> listed, std::span<const std::uint32_t> changed);

  DeviceUsers& holders_;
  ClientScan scan_;
  ClientWalk walk_;
  std::optional<Nanoseconds> listed_;
};

}  // namespace igpu
