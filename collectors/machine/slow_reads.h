// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "igpu/reading.h"
#include "igpu/units.h"
#include "machine/filesystem.h"

namespace igpu {

// The starts of files for which their driver may let a reader wait, as long as it likes and without a way to ask first:
// a thread of its own reads them, one after the other, with the rights of the one that makes it.
class SlowReads {
 public:
  // What a reader waits, so that files that are ready are in the same scrape.
  static constexpr Nanoseconds kLongestWait = std::chrono::milliseconds(500);

  // size: bytes of each file. from must outlive it. Throws std::system_error if there is no thread to be had.
  SlowReads(const Directory& from, std::vector<std::string> paths, std::size_t size);
  // Waits until the driver has answered: the kernel does not let a process end earlier either.
  ~SlowReads();
  SlowReads(const SlowReads&) = delete;
  SlowReads& operator=(const SlowReads&) = delete;

  // In the order of the paths; once. nullopt: not all of them were read within this time.
  std::optional<std::vector<Reading<std::string>>> take(Nanoseconds longest_wait);

 private:
  void run(const Directory& from, const std::vector<std::string>& paths, std::size_t size);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<std::vector<Reading<std::string>>> read_;
  std::thread thread_;
};

}  // namespace igpu
