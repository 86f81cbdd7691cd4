// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <mutex>
#include <utility>
#include <vector>

#include "igpu/unique_fd.h"
#include "top/frame.h"

namespace igpu::exporter::top {

// Frames on their way from the threads that read to the one that draws.
class Mailbox {
 public:
  Mailbox();  // throws std::system_error

  void put(std::size_t host, HostFrame frame);
  std::vector<std::pair<std::size_t, HostFrame>> take();  // the newest of each host
  int descriptor() const { return event_.get(); }         // readable: something has come

 private:
  std::mutex mutex_;
  std::vector<std::pair<std::size_t, HostFrame>> frames_;
  UniqueFd event_;
};

}  // namespace igpu::exporter::top
