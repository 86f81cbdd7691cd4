// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "igpu/unique_fd.h"

namespace igpu::exporter {

// A descriptor (eventfd(2)) that is readable from raise() on until clear(). Any thread.
class WakeUp {
 public:
  WakeUp();  // throws std::system_error
  int descriptor() const { return fd_.get(); }
  void raise();
  void clear();
  bool raised() const;

 private:
  UniqueFd fd_;
};

}  // namespace igpu::exporter
