// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <mutex>
#include <utility>
#include <vector>

#include "igpu/unique_fd.h"
#include "top/host_frame.h"

namespace igpu::exporter::top {

// Passes frames from the threads that read hosts to the thread that draws.
class Mailbox {
 public:
  Mailbox();  // throws std::system_error

  void put(std::size_t host, HostFrame frame);
  std::vector<std::pair<std::size_t, HostFrame>> take_frames();  // the newest frame of each host
  int descriptor() const { return event_.get(); }                // readable while frames are waiting

 private:
  std::mutex mutex_;
  std::vector<std::pair<std::size_t, HostFrame>> frames_;
  UniqueFd event_;
};

}  // namespace igpu::exporter::top
