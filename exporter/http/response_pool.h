// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "http/message.h"

namespace igpu::exporter {

// Reuses the memory of responses. Thread-safe.
class ResponsePool {
 public:
  std::unique_ptr<HttpResponse> empty_response() {
    const std::lock_guard lock(mutex_);
    if (spare_.empty()) return std::make_unique<HttpResponse>();
    std::unique_ptr<HttpResponse> response = std::move(spare_.back());
    spare_.pop_back();
    return response;
  }

  void give_back(std::unique_ptr<HttpResponse> response) {
    if (response->body.capacity() > kLargestKept) return;
    response->clear();
    const std::lock_guard lock(mutex_);
    if (spare_.size() < kKept) spare_.push_back(std::move(response));
  }

 private:
  static constexpr std::size_t kKept = 4;                // more only while that many requests overlap
  static constexpr std::size_t kLargestKept = 8U << 20;  // an unusually large page does not stay in memory

  std::mutex mutex_;
  std::vector<std::unique_ptr<HttpResponse>> spare_;
};

}  // namespace igpu::exporter
