// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>

#include "server/push/push_target.h"

namespace igpu::exporter {

// Readings that wait for their delivery, in order. When the queue is full, the oldest item that is not being delivered
// is dropped.
class PushQueue {
 public:
  struct Limits {
    std::size_t items = 64;  // a quarter of an hour at the default interval
    std::size_t bytes = std::size_t{32} << 20U;
  };
  PushQueue() : PushQueue(Limits{}) {}
  explicit PushQueue(Limits limits) : limits_(limits) {}

  // Returns the number of samples that were dropped to make room, or those of `item` if it is too large for the queue.
  std::uint64_t add(PushItem item) {
    if (item.bytes.size() > limits_.bytes) return item.samples;
    bytes_ += item.bytes.size();
    items_.push_back(std::make_shared<const PushItem>(std::move(item)));
    std::uint64_t dropped = 0;
    const std::size_t first = taken_ ? 1 : 0;
    while ((items_.size() > limits_.items || bytes_ > limits_.bytes) && items_.size() > first + 1) {
      const auto oldest = items_.begin() + static_cast<std::ptrdiff_t>(first);
      dropped += (*oldest)->samples;
      bytes_ -= (*oldest)->bytes.size();
      items_.erase(oldest);
    }
    return dropped;
  }

  // The oldest item, which stays in the queue; null: the queue is empty.
  std::shared_ptr<const PushItem> take() {
    if (items_.empty()) return nullptr;
    taken_ = true;
    return items_.front();
  }
  void give_back() { taken_ = false; }  // not delivered: it stays first
  void finish() {                       // delivered or refused
    taken_ = false;
    bytes_ -= items_.front()->bytes.size();
    items_.pop_front();
  }
  std::size_t size() const { return items_.size(); }

 private:
  Limits limits_;
  std::deque<std::shared_ptr<const PushItem>> items_;
  std::size_t bytes_ = 0;
  bool taken_ = false;
};

}  // namespace igpu::exporter
