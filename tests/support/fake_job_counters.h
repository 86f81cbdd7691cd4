// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstring>
#include <string_view>

#include "machine/job_counters.h"

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
  std::uint64_t& slot(std::size_t number) { return slots_[number]; }

  Reading<std::uint64_t> misses = std::uint64_t{0};
  mutable int misses_read = 0;
  std::optional<Absent> why_not;
  std::optional<JobDriver> asked;

 private:
  std::array<std::uint64_t, JOB_SLOTS> slots_{};
};

}  // namespace igpu::test
