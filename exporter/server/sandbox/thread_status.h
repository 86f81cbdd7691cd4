// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/sandbox/capabilities.h"

namespace igpu::exporter {

// Privileges of one thread, from /proc/<pid>/task/<tid>/status.
struct ThreadStatus {
  CapabilitySet inheritable = 0, permitted = 0, effective = 0, bounding = 0, ambient = 0;
  bool no_new_privs = false;
  int seccomp = 0;  // 0 none, 1 strict, 2 filter
};

// Empty if a line is missing.
std::optional<ThreadStatus> parse_thread_status(std::string_view text);

// All threads of this process; empty if /proc cannot be read.
std::vector<ThreadStatus> own_threads();

}  // namespace igpu::exporter
