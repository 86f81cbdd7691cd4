// SPDX-License-Identifier: Apache-2.0
#include "machine/slow_reads.h"

#include <utility>

#include "machine/this_process.h"

namespace igpu {

SlowReads::SlowReads(const Directory& from, std::vector<std::string> paths, std::size_t size)
    : thread_([this, &from, paths = std::move(paths), size] { run(from, paths, size); }) {}

SlowReads::~SlowReads() { thread_.join(); }

void SlowReads::run(const Directory& from, const std::vector<std::string>& paths, std::size_t size) {
  name_this_thread("slow-reads");
  std::vector<Reading<std::string>> read;
  std::vector<char> buffer(size);
  for (const std::string& path : paths)
    read.push_back(from.read_start(path, buffer).map([](std::string_view text) { return std::string(text); }));
  const std::lock_guard lock(mutex_);
  read_ = std::move(read);
  changed_.notify_all();
}

std::optional<std::vector<Reading<std::string>>> SlowReads::take(Nanoseconds longest_wait) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, longest_wait, [this] { return read_.has_value(); });
  return std::exchange(read_, std::nullopt);
}

}  // namespace igpu
