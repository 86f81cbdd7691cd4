// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "level_zero/tracker/api_table.h"
#include "level_zero/tracker/page_layout.h"

namespace igpu::test {

// A page as the tracker would have written it, to be changed by tests.
class LevelZeroPageBytes {
 public:
  LevelZeroPageBytes() : bytes_(level_zero::entries_offset(1) + level_zero::entries_of(1) * sizeof(level_zero::Entry)) {
    auto& h = header();
    h.magic = level_zero::kMagic;
    h.version = level_zero::kLayoutVersion;
    h.frames_per_site = 1;
    h.entries_offset = level_zero::entries_offset(1);
    h.entries = level_zero::entries_of(1);
    h.kinds = level_zero::kKinds;
    h.functions = level_zero::kFunctions;
    h.pid = 42;
    h.started_realtime_ns = 1'000'000'000;
    std::strcpy(h.comm, "trainer");
    kind(level_zero::Kind::memory_device) = {.created = 5,
                                             .destroyed = 3,
                                             .live = 2,
                                             .live_peak = 4,
                                             .failed = 1,
                                             .bytes = 8192,
                                             .bytes_peak = 16384,
                                             .bytes_allocated = 20480};
    call(0, 0) = {1, 0};
    call(0, 3) = {2, 1};
  }

  level_zero::Header& header() { return at<level_zero::Header>(0); }
  level_zero::KindCounters& kind(level_zero::Kind kind) {
    return at<level_zero::KindCounters>(level_zero::kKindsOffset +
                                        static_cast<std::size_t>(kind) * sizeof(level_zero::KindCounters));
  }
  level_zero::CallCounters& call(std::size_t function, std::size_t lane) {
    return at<level_zero::CallCounters>(level_zero::kCallsOffset + (lane * level_zero::kMaxFunctions + function) *
                                                                       sizeof(level_zero::CallCounters));
  }
  std::vector<std::byte>& bytes() { return bytes_; }
  std::string text() const { return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()}; }

 private:
  template <class T>
  T& at(std::size_t offset) {
    return *reinterpret_cast<T*>(bytes_.data() + offset);
  }
  std::vector<std::byte> bytes_;
};

}  // namespace igpu::test
