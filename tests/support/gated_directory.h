// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "support/forwarding_directory.h"

namespace igpu::test {

// Holds up threads while it is closed.
class Gate {
 public:
  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  void open() {
    const std::lock_guard lock(mutex_);
    closed_ = false;
    changed_.notify_all();
  }
  void pass() {
    std::unique_lock lock(mutex_);
    ++arrived_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !closed_; });
  }
  // How many threads came so far, whether they are through or not.
  int arrived() const {
    const std::lock_guard lock(mutex_);
    return arrived_;
  }
  bool wait_for_arrivals(int count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(60), [&] { return arrived_ >= count; });
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool closed_ = false;
  int arrived_ = 0;
};

// A directory of which one folder cannot be listed while the gate is closed: a read that hangs in the kernel.
class GatedDirectory final : public ForwardingDirectory {
 public:
  GatedDirectory(const Directory& real, std::string folder) : ForwardingDirectory(real), folder_(std::move(folder)) {}
  Gate gate;

  Reading<Unit> for_each(std::string_view path, const std::function<bool(std::string_view)>& visit) const override {
    if (path == folder_) gate_.pass();
    return inner().for_each(path, visit);
  }

 private:
  const std::string folder_;
  Gate& gate_ = gate;
};

}  // namespace igpu::test
