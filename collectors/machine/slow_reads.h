// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "igpu/reading.h"
#include "igpu/units.h"
#include "machine/filesystem.h"
#include "machine/this_process.h"

namespace igpu {

// Reads the starts of files whose driver may block a reader for any time, which cannot be known beforehand. They are
// read one after the other on a thread, which inherits the rights of the thread that constructs the object.
class SlowReads {
 public:
  // How long a scrape waits, so that files that are read quickly are part of it.
  static constexpr Nanoseconds kLongestWait = std::chrono::milliseconds(500);

  // size: bytes of each file. from must outlive it. Throws std::system_error if no thread can be started.
  SlowReads(const Directory& from, std::vector<std::string> paths, std::size_t size)
      : thread_([this, &from, paths = std::move(paths), size] { run(from, paths, size); }) {}
  // Waits until the driver has answered: the kernel does not let a process end earlier either.
  ~SlowReads() { thread_.join(); }
  SlowReads(const SlowReads&) = delete;
  SlowReads& operator=(const SlowReads&) = delete;

  // The results in the order of the paths, once. nullopt: not all files were read within this time.
  std::optional<std::vector<Reading<std::string>>> take(Nanoseconds longest_wait) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, longest_wait, [this] { return read_.has_value(); });
    return std::exchange(read_, std::nullopt);
  }

 private:
  void run(const Directory& from, const std::vector<std::string>& paths, std::size_t size) {
    name_this_thread("slow-reads");
    std::vector<Reading<std::string>> read;
    std::vector<char> buffer(size);
    for (const std::string& path : paths)
      read.push_back(from.read_start(path, buffer).map([](std::string_view text) { return std::string(text); }));
    const std::lock_guard lock(mutex_);
    read_ = std::move(read);
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<std::vector<Reading<std::string>>> read_;
  std::thread thread_;
};

}  // namespace igpu
