// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "igpu/reading.h"

// perf_event_open(2), reduced to what counting system-wide PMU events needs: pid -1, one CPU, no sampling, no exclude
// bits (power and uncore PMUs reject them), read_format GROUP | TOTAL_TIME_ENABLED | TOTAL_TIME_RUNNING,
// PERF_FLAG_FD_CLOEXEC.
namespace igpu {

struct PerfEventConfig {
  std::uint32_t type = 0;    // number from the PMU's type file; may change at any (re)open
  std::uint64_t config = 0;  // 0 is a valid event (rcs0-busy)
};

// One opened event. If the leader is closed, its siblings count on alone: close a group as a whole
// (kernel/pmu/pmu_session.h does).
class PerfEvent {
 public:
  virtual ~PerfEvent() = default;
  // read(2) on a group leader: words = nr, time_enabled, time_running, value 1..nr. Returns the words that were read;
  // the caller checks nr and length (after its device is gone, a dissolved group returns nr = 1 or nothing).
  virtual Reading<std::span<const std::uint64_t>> read(std::span<std::uint64_t> words) = 0;
};

class PerfEvents {
 public:
  virtual ~PerfEvents() = default;
  // leader: nullptr opens a group of its own. Rejections are Absent with os_error set: EACCES (paranoid level or
  // capability), EPERM or ENOSYS (seccomp) as permission; ENOENT, ENODEV, EINVAL, EOPNOTSUPP as kernel. Others are a
  // Failure.
  virtual Reading<std::unique_ptr<PerfEvent>> open(const PerfEventConfig& event, int cpu, PerfEvent* leader) = 0;
};

std::unique_ptr<PerfEvents> system_perf_events();

// Perf events that another process opens: the one that reads them then needs neither the privilege nor the system call.

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
