// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "metric/sample_sink.h"

namespace igpu {

// Reuses the memory of sinks: a sink returns to the pool when its page is released. Any thread.
class SinkPool : public std::enable_shared_from_this<SinkPool> {
 public:
  std::shared_ptr<SampleSink> empty_sink() {
    std::unique_ptr<SampleSink> sink;
    {
      const std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        sink = std::move(free_.back());
        free_.pop_back();
      }
    }
    if (!sink) sink = std::make_unique<SampleSink>();
    return {sink.release(),
            [pool = shared_from_this()](SampleSink* used) { pool->give_back(std::unique_ptr<SampleSink>(used)); }};
  }

 private:
  void give_back(std::unique_ptr<SampleSink> sink) {
    sink->clear();
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(sink));
  }

  std::mutex mutex_;
  std::vector<std::unique_ptr<SampleSink>> free_;
};

}  // namespace igpu
