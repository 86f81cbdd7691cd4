// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "igpu/reading.h"

// Tracepoints of the kernel: what an event's format file says, and its records through perf_event_open(2), one ring per
// CPU. A session keeps the modules that own the events from being unloaded.
namespace igpu {

struct TraceField {
  std::string name;
  std::uint16_t offset = 0;
  std::uint16_t size = 0;
  bool is_signed = false;
  bool is_text = false;  // __data_loc: offset and length of a text elsewhere in the record
};

struct TraceFormat {
  std::string name;
  std::uint32_t id = 0;
  std::vector<TraceField> fields;

  const TraceField* find(std::string_view field) const;  // null: this kernel's event does not have it
};

// events/SYSTEM/EVENT/format. nullopt for anything that is not one.
std::optional<TraceFormat> parse_trace_format(std::string_view text);

struct TraceRecord {
  std::uint64_t time_ns = 0;  // CLOCK_MONOTONIC
  std::uint32_t pid = 0;      // process; 0 if it is outside this PID namespace
  std::uint32_t tid = 0;      // as the initial PID namespace sees it
  std::uint32_t cpu = 0;
  std::span<const std::byte> data;

  std::uint16_t event_id() const;
  bool in_hard_interrupt() const;
  // 0 if the record is too short. Signed fields are extended.
  std::uint64_t number(const TraceField& field) const;
  // "" if it is not within the record. For __data_loc and for arrays of characters.
  std::string_view text(const TraceField& field) const;
};

struct TraceRingCounts {
  std::uint64_t records = 0;
  std::uint64_t lost = 0;     // as the ring's own records say; see TraceSession::lost_records()
  std::uint64_t damaged = 0;  // rings whose rest could not be read
};

// The records between tail and head of a perf ring (its size is a power of two), oldest first. Returns the new tail.
std::uint64_t read_trace_ring(std::span<const std::byte> ring, std::uint64_t tail, std::uint64_t head,
                              std::uint32_t cpu, const std::function<void(const TraceRecord&)>& visit,
                              TraceRingCounts& counts);

struct TraceRequest {
  std::vector<std::uint32_t> events;              // ids
  std::size_t ring_bytes = std::size_t{4} << 20;  // per CPU; halved as often as the kernel refuses the memory
};

// Until it is closed, the modules that own the events cannot be unloaded.
class TraceSession {
 public:
  virtual ~TraceSession() = default;
  // Returns when a quarter of a ring is filled, when the time is over, or when a signal arrives.
  virtual void wait(std::chrono::milliseconds time) = 0;
  virtual void drain(const std::function<void(const TraceRecord&)>& visit) = 0;
  // No more records come; drain() returns those that are left.
  virtual void stop() = 0;
  virtual std::uint64_t lost_records() = 0;  // since the session began; exact from Linux 6.0
  virtual std::uint64_t damaged() const = 0;
  virtual std::size_t ring_bytes() const = 0;
};

class Tracepoints {
 public:
  virtual ~Tracepoints() = default;
  // Absent{kernel, ENOENT}: no such event, or its module is not loaded.
  virtual Reading<TraceFormat> format(std::string_view system, std::string_view event) = 0;
  // Absent{permission}: EACCES or EPERM as for perf_event_open(2).
  virtual Reading<std::unique_ptr<TraceSession>> open(const TraceRequest& request) = 0;
};

// root: "" for where tracefs is mounted (/sys/kernel/tracing, or below debugfs).
std::unique_ptr<Tracepoints> system_tracepoints(const std::string& root = {});

}  // namespace igpu
