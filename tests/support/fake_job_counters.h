// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstring>
#include <string_view>
#include <vector>

#include "machine/driver_events.h"

namespace igpu::test {

// Counters that a test writes as the kernel would.
class FakeJobCounters final : public JobCounters, public JobCounterSource {
 public:
  std::span<const std::uint64_t, JOB_SLOTS> slots() const override { return slots_; }
  Reading<std::uint64_t> recursion_misses() const override {
    ++misses_read;
    return misses;
  }
  Reading<const JobCounters*> get(JobDriver driver, Nanoseconds) override {
    asked = driver;
    if (why_not) return *why_not;
    return static_cast<const JobCounters*>(this);
  }

  // The first slot of a new group.
  std::uint64_t* add_group(std::string_view device, int source, int engine_class) {
    std::uint64_t* const group = slots_.data() + ++slots_[JOB_GROUPS_USED] * JOB_GROUP_SLOTS;
    std::memcpy(group + JOB_DEVICE, device.data(), device.size());
    group[JOB_KIND] = static_cast<std::uint64_t>(JOB_KIND_KNOWN | source << JOB_KIND_SOURCE | engine_class);
    return group;
  }
  // The first slot of a new group of a process, as the kernel makes it: in a free one, or in one never used.
  std::uint64_t* add_process_group(std::string_view device, int source, int engine_class, std::uint32_t pid,
                                   std::uint64_t start_ticks) {
    process_slots_.resize(JOB_PROCESS_SLOTS);
    std::uint64_t number = 0;
    if (process_slots_[JOB_FREE_TAKEN] < process_slots_[JOB_FREE_ADDED])
      number = process_slots_[process_slots_[JOB_FREE_TAKEN]++ % JOB_PROCESS_GROUPS * JOB_GROUP_SLOTS + JOB_FREE_GROUP];
    else
      number = ++process_slots_[JOB_PROCESS_GROUPS_USED];
    std::uint64_t* const group = process_slots_.data() + number * JOB_GROUP_SLOTS;
    std::memcpy(group + JOB_DEVICE, device.data(), device.size());
    group[JOB_PROCESS] = pid;
    group[JOB_BORN] = start_ticks * 10'000'000 + 1;
    group[JOB_KIND] = static_cast<std::uint64_t>(JOB_KIND_KNOWN | source << JOB_KIND_SOURCE | engine_class);
    return group;
  }
  std::span<std::uint64_t> process_slots() const override { return process_slots_; }

  bool all_classes() const override { return of_all_classes; }

  std::uint64_t& slot(std::size_t number) { return slots_[number]; }

  Reading<std::uint64_t> misses = std::uint64_t{0};
  mutable int misses_read = 0;
  bool of_all_classes = false;
  std::optional<Absent> why_not;
  std::optional<JobDriver> asked;

 private:
  std::array<std::uint64_t, JOB_SLOTS> slots_{};
  mutable std::vector<std::uint64_t> process_slots_;  // empty until the first process submits a job
};

}  // namespace igpu::test
