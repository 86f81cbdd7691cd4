// SPDX-License-Identifier: Apache-2.0
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "machine/filesystem.h"
#include "machine/perf_event_linux.h"
#include "machine/perf_events.h"

namespace igpu {

UniqueFd open_perf_event(const PerfEventConfig& event, int cpu, int leader) {
  perf_event_attr attributes;
  std::memset(&attributes, 0, sizeof attributes);
  attributes.size = sizeof attributes;
  attributes.type = event.type;
  attributes.config = event.config;
  attributes.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  return UniqueFd(static_cast<int>(
      ::syscall(SYS_perf_event_open, &attributes, -1, cpu, leader, static_cast<unsigned long>(PERF_FLAG_FD_CLOEXEC))));
}

Reading<std::unique_ptr<PerfEvent>> perf_event_not_opened(int error) {
  // Here a wrong argument is an event this kernel or hardware does not have.
  if (error == EINVAL) return Absent{Reason::kernel, EINVAL};
  // No kernel for x86 lacks the call: a seccomp profile hides it (Podman's with CAP_SYS_ADMIN alone).
  if (error == ENOSYS) return Absent{Reason::permission, ENOSYS};
  return outcome_of_errno<std::unique_ptr<PerfEvent>>(error, "perf_event_open");
}

Reading<std::span<const std::uint64_t>> LinuxPerfEvent::read(std::span<std::uint64_t> words) {
  ssize_t count;
  do count = ::read(fd_.get(), words.data(), words.size_bytes());
  while (count < 0 && errno == EINTR);
  if (count < 0) return outcome_of_errno<std::span<const std::uint64_t>>(errno, "read of a perf event group");
  return std::span<const std::uint64_t>(words.first(static_cast<std::size_t>(count) / sizeof(std::uint64_t)));
}

namespace {

class LinuxPerfEvents final : public PerfEvents {
 public:
  Reading<std::unique_ptr<PerfEvent>> open(const PerfEventConfig& event, int cpu, PerfEvent* leader) override {
    UniqueFd fd = open_perf_event(event, cpu, leader ? static_cast<LinuxPerfEvent*>(leader)->fd() : -1);
    if (!fd) return perf_event_not_opened(errno);
    return std::unique_ptr<PerfEvent>(std::make_unique<LinuxPerfEvent>(std::move(fd)));
  }
};

}  // namespace

std::unique_ptr<PerfEvents> system_perf_events() { return std::make_unique<LinuxPerfEvents>(); }

}  // namespace igpu
