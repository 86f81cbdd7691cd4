// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "igpu/unique_fd.h"
#include "platform/sandbox_layers.h"
#include "server/sandbox/landlock.h"
#include "server/sandbox/privileges.h"

namespace igpu::exporter {

#ifdef IGPU_INSTRUMENTED
inline constexpr bool kInstrumented = true;
#else
inline constexpr bool kInstrumented = false;
#endif

// What must not run beside the server's keys is done by a process of its own, which ends with this one. All are started
// in one way: forked while this process has one thread and no secret, without its descriptors and environment, then
// as nobody, without capabilities, under Landlock and a filter of system calls of its own.
struct Helper {
  const char* name;  // as ps(1) shows it
  bool confined = true;
  bool as_nobody = false;           // where this process is root
  bool passes_descriptors = false;  // otherwise its socket receives none
  CapabilitySet keep = 0;
  CapabilitySet to_prepare = 0;  // as well
  FileAccess files;
  // Each gets its socket. What the first two throw ends the process.
  std::function<void(int socket)> begin = {};    // with the privileges of the start
  std::function<void(int socket)> prepare = {};  // without them, under Landlock
  std::function<LayerOutcome(int socket)> filter;
  std::function<void(int socket)> serve;  // until the other end of the socket is closed
};

// Returns this process' end of the socket. Throws std::system_error.
UniqueFd start_helper(const Helper& helper);

}  // namespace igpu::exporter
