// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>

#include "igpu/unique_fd.h"
#include "machine/perf_events.h"

// Shared by the openers of events in this process and in another one.
namespace igpu {

class LinuxPerfEvent : public PerfEvent {
 public:
  explicit LinuxPerfEvent(UniqueFd fd) : fd_(std::move(fd)) {}
  Reading<std::span<const std::uint64_t>> read(std::span<std::uint64_t> words) override;
  int fd() const { return fd_.get(); }

 protected:
  void close() { fd_.reset(); }

 private:
  UniqueFd fd_;
};

UniqueFd open_perf_event(const PerfEventConfig& event, int cpu, int leader);  // empty: see errno
Reading<std::unique_ptr<PerfEvent>> perf_event_not_opened(int error);

}  // namespace igpu
