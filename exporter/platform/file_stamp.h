// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace igpu::exporter {

// Detects changes of a file without reading it, by stat(2) or its Windows counterpart.
struct FileStamp {
  using Time = std::chrono::time_point<std::chrono::system_clock, std::chrono::nanoseconds>;

  int error = 0;  // errno; the rest is then 0
  std::uint64_t device = 0, file = 0, size = 0;
  Time modified{};
  Time changed{};  // of content or metadata

  bool operator==(const FileStamp&) const = default;
};

FileStamp file_stamp(const std::string& path);

}  // namespace igpu::exporter
