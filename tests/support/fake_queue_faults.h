// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstring>
#include <optional>
#include <string_view>

#include "machine/driver_events.h"

namespace igpu::test {

// Faults that a test writes as the kernel would.
class FakeQueueFaults final : public QueueFaults, public QueueFaultSource {
 public:
  struct Fault {
    std::uint64_t kind = FAULT_JOB_TIMEOUT;
    std::string_view device = "0000:03:00.0";
    std::uint64_t queue = 27, gt = 0;
    std::uint64_t engine_class = 1;  // xe's own number: vcs
    std::uint32_t pid = 0;
    std::string_view name = {};
    Nanoseconds time{};
  };

  std::span<const std::uint64_t, FAULT_SLOTS> slots() const override { return slots_; }
  Reading<const QueueFaults*> get(Nanoseconds) override {
    ++asked;
    if (why_not) return *why_not;
    return static_cast<const QueueFaults*>(this);
  }

  void add(const Fault& fault) {
    std::uint64_t* const place = place_of(slots_[FAULT_WRITTEN]++);
    std::memset(&place[FAULT_DEVICE], 0, 2 * FAULT_NAME_SIZE);
    std::memcpy(&place[FAULT_DEVICE], fault.device.data(), fault.device.size());
    if (!fault.name.empty()) std::memcpy(&place[FAULT_PROCESS], fault.name.data(), fault.name.size());
    place[FAULT_TIME] = static_cast<std::uint64_t>(fault.time.count());
    place[FAULT_PID] = fault.pid;
    place[FAULT_WHAT] = fault.kind | fault.engine_class << 8 | fault.gt << 16 | fault.queue << 32;
    place[FAULT_SEQUENCE] = slots_[FAULT_WRITTEN];
  }
  std::uint64_t* place_of(std::uint64_t number) {
    return slots_.data() + (1 + number % FAULT_PLACES) * FAULT_PLACE_SLOTS;
  }
  std::uint64_t& written() { return slots_[FAULT_WRITTEN]; }

  std::optional<Absent> why_not;
  int asked = 0;

 private:
  std::array<std::uint64_t, FAULT_SLOTS> slots_{};
};

}  // namespace igpu::test
