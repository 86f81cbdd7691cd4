// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "machine/filesystem.h"

// Who opened the DRM nodes, as DRM's debugfs shows it: /sys/kernel/debug/dri/<minor>/clients
// (drivers/gpu/drm/drm_debugfs.c).
//
// It is a hint, never proof. It names the process that opened a node, or from Linux 6.7 on the last one that used the
// file if another one did; not those that inherited it or were passed it, and nobody once that process has ended. Linux
// before 6.2 names the thread. So it can make a finder scan a process sooner, but cannot spare it the others.
//
// Permissions: debugfs is root's (mode 0700). Reading the file does not resume the GPU.
namespace igpu {

// PIDs of the text's lines, one for each open file; 0 (a process of another PID namespace) is left out.
std::vector<std::uint32_t> parse_drm_openers(std::string_view text);

class DrmOpeners {
 public:
  // Processes that have another number of open files now than at the last call. Empty where debugfs cannot be read.
  std::vector<std::uint32_t> changed(const Directory& sys);

 private:
  using Counts = std::map<std::uint32_t, std::uint32_t>;  // open files by PID

  Counts known_;
  std::vector<char> buffer_;
};

}  // namespace igpu
