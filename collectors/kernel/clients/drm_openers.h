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
// It is a hint, never proof. It names the process that opened a node (from Linux 6.7 on, the last process that used the
// file). It does not name processes that inherited or received the descriptor, and names none once the opener has
// ended. Linux before 6.2 names the thread. So a finder can use it to scan a process sooner, but must still scan the
// other processes.
//
// Permissions: debugfs is root's (mode 0700). Reading the file does not resume the GPU.
namespace igpu {

// The PIDs in the text, one per open file, without 0 (a process of another PID namespace).
std::vector<std::uint32_t> parse_drm_openers(std::string_view text);

class DrmOpeners {
 public:
  // Processes whose number of open files changed since the last call. Empty if debugfs cannot be read.
  std::vector<std::uint32_t> changed(const Directory& sys);

 private:
  using Counts = std::map<std::uint32_t, std::uint32_t>;  // open files by PID

  Counts known_;
  std::vector<char> buffer_;
};

}  // namespace igpu
