// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <span>

#include "igpu/units.h"
#include "kernel/device/drm_nodes.h"
#include "kernel/faults/fault_text.h"
#include "machine/bpf/fault_slots.h"

namespace igpu {

// Reads the hangs that BPF programs write into mapped memory (machine/bpf/fault_slots.h), in the form of parsed kernel
// log lines: job_timeout, cat_error and engine_reset of xe, with the queue, its class, and its creator if the creation
// was seen. Makes no system call.
class QueueFaultEvents {
 public:
  using Slots = std::span<const std::uint64_t, FAULT_SLOTS>;
  // Calls f for each hang since the last call, oldest first. time: CLOCK_MONOTONIC. line: valid during the call of f.
  // Returns the number of hangs that were overwritten before they were read.
  std::uint64_t read(Slots slots, const std::function<void(const FaultLine& line, Nanoseconds time)>& f) {
    const std::uint64_t written = __atomic_load_n(&slots[FAULT_WRITTEN], __ATOMIC_ACQUIRE);
    std::uint64_t lost = 0;
    if (written - next_ > FAULT_PLACES) {
      lost = written - next_ - FAULT_PLACES;
      next_ = written - FAULT_PLACES;
    }
    for (; next_ != written; ++next_) {
      const std::uint64_t* const at = slots.data() + (1 + next_ % FAULT_PLACES) * FAULT_PLACE_SLOTS;
      const std::uint64_t sequence = sequence_of(at);
      if (sequence < next_ + 1) break;  // it is being written, and complete in the next scrape
      Place place;
      // Acquire: the sequence is read again after all of these.
      for (std::size_t i = 0; i < place.size(); ++i) place[i] = __atomic_load_n(&at[i], __ATOMIC_ACQUIRE);
      if (sequence != next_ + 1 || sequence_of(at) != sequence) {
        ++lost;
        continue;
      }
      const auto time = Nanoseconds(static_cast<Nanoseconds::rep>(place[FAULT_TIME]));
      if (const auto line = line_of(place)) f(*line, time);
    }
    return lost;
  }

 private:
  using Place = std::array<std::uint64_t, FAULT_PLACE_SLOTS>;

  static std::uint64_t sequence_of(const std::uint64_t* place) {
    return __atomic_load_n(&place[FAULT_SEQUENCE], __ATOMIC_ACQUIRE);
  }

  static std::string_view text_at(const Place& place, std::size_t slot) {
    const char* const text = reinterpret_cast<const char*>(place.data() + slot);
    return {text, ::strnlen(text, FAULT_NAME_SIZE)};
  }

  static std::optional<FaultSign> sign_of(std::uint64_t what) {
    switch (what & 0xff) {
      case FAULT_JOB_TIMEOUT: return FaultSign::job_timeout;
      case FAULT_CAT_ERROR: return FaultSign::cat_error;
      case FAULT_ENGINE_RESET: return FaultSign::engine_reset;
      default: return std::nullopt;
    }
  }

  // Of enum xe_engine_class (xe_hw_engine_types.h), which is not that of the interface.
  static std::optional<EngineClass> class_of_queue(std::uint64_t what) {
    switch (what >> 8 & 0xff) {
      case 0: return EngineClass::render;
      case 1: return EngineClass::video;
      case 2: return EngineClass::video_enhance;
      case 3: return EngineClass::copy;
      case 5: return EngineClass::compute;
      default:  // 4: others
        return std::nullopt;
    }
  }

  static std::optional<FaultLine> line_of(const Place& place) {
    const std::uint64_t what = place[FAULT_WHAT];
    const auto sign = sign_of(what);
    const std::string_view device = text_at(place, FAULT_DEVICE);
    if (!sign || !is_pci_address(device)) return std::nullopt;
    FaultLine line;
    line.sign = *sign;
    line.driver = Driver::xe;
    line.device = device;
    line.gt = static_cast<std::uint32_t>(what >> 16 & 0xff);
    line.queue = static_cast<std::uint32_t>(what >> 32);
    line.engine_class = class_of_queue(what);
    const auto pid = static_cast<std::uint32_t>(place[FAULT_PID]);
    const std::string_view name = text_at(place, FAULT_PROCESS);
    if (pid != 0 && !name.empty()) line.process = FaultProcess{pid, std::string(name)};
    return line;
  }

  std::uint64_t next_ = 0;
};

}  // namespace igpu
