// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "machine/perf_events.h"

// Perf events that another process opens: the one that reads them then needs neither the privilege nor the system call.
namespace igpu {

// socket: one end of a SOCK_SEQPACKET pair; it is not closed, and must outlive the events. Any thread may use them.
std::unique_ptr<PerfEvents> remote_perf_events(int socket);

// The other process: opens events on request until the other end of the socket is closed. It opens counting events of
// whole CPUs only, and only those that may_open() accepts; all others are rejected with EPERM.
void serve_perf_events(int socket, const std::function<bool(const PerfEventConfig&)>& may_open);

// What is sent over the socket; an answer comes with the descriptor of the event.
struct PerfRequest {
  static constexpr std::int32_t kNone = -1;
  std::uint64_t config = 0;
  std::uint32_t type = 0;
  std::int32_t cpu = 0;
  std::int32_t leader = kNone;  // number of the group's leader
  std::uint32_t serial = 0;     // 0: the leader was closed; there is no answer
};
struct PerfAnswer {
  std::uint32_t serial = 0;                  // of the request
  std::int32_t error = 0;                    // errno; 0: opened
  std::int32_t number = PerfRequest::kNone;  // of a leader
};

}  // namespace igpu
