// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "igpu/level_zero.h"
#include "level_zero/tracker/api_table.h"
#include "level_zero/tracker/log_layout.h"

namespace igpu {

using namespace level_zero;

std::optional<LevelZeroLogReader> LevelZeroLogReader::open(std::span<const std::byte> log) {
  LogHeader header{};
  if (log.size() < sizeof header) return std::nullopt;
  std::memcpy(&header, log.data(), sizeof header);
  if (header.magic != kLogMagic || header.version != kLogVersion) return std::nullopt;
  LevelZeroLogReader reader;
  reader.with_memory_ = header.event_bytes == sizeof(LogEvent) + sizeof(LogMemory);
  if (header.event_bytes != sizeof(LogEvent) && !reader.with_memory_) return std::nullopt;
  reader.event_bytes_ = header.event_bytes;
  reader.pid_ = header.pid;
  reader.rest_ = log.subspan(sizeof header);
  return reader;
}

std::optional<LevelZeroEvent> LevelZeroLogReader::next() {
  while (rest_.size() >= event_bytes_) {
    LogEvent raw{};
    LogMemory memory{};
    std::memcpy(&raw, rest_.data(), sizeof raw);
    if (with_memory_) std::memcpy(&memory, rest_.data() + sizeof raw, sizeof memory);
    rest_ = rest_.subspan(event_bytes_);
    if (raw.function >= kFunctions) {
      ++unreadable_;
      continue;
    }
    LevelZeroEvent event;
    event.since_start_ns = raw.since_start_ns;
    event.function = kFunctionNames[raw.function];
    const FunctionAct act = kFunctionActs[raw.function];
    if (act.act == Act::create || act.act == Act::destroy) event.kind = kKindNames[act.kind];
    event.destroys = act.act == Act::destroy;
    event.thread = raw.thread;
    event.result = raw.result;
    event.handle = raw.handle;
    event.total_bytes = raw.total_bytes;
    std::copy(std::begin(raw.counts), std::end(raw.counts), event.counts.begin());
    event.vm_size = memory.size;
    event.vm_resident = memory.resident;
    event.vm_data = memory.data;
    event.vm_peak = memory.peak;
    event.threads = memory.threads;
    event.size_change = memory.size_change;
    event.resident_change = memory.resident_change;
    event.data_change = memory.data_change;
    return event;
  }
  if (!rest_.empty()) ++unreadable_;
  rest_ = {};
  return std::nullopt;
}

}  // namespace igpu
