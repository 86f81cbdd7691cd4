// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "capture/answers.h"
#include "machine/machine.h"

namespace igpu::capture {

// A machine that hands every question on to another one and keeps the answers, pass by pass. Within one pass the same
// question has one answer. Its clock shows when the last answer was given that is kept in a capture whatever processes
// there are: replay knows these times and no others. Any thread.
class Recorder {
 public:
  explicit Recorder(Machine& inner);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // Its host's file system, the pages of the Level Zero tracker and the kernel's messages are not recorded: the first
  // two are not available, and there are no messages.
  Machine& machine();
  void begin_pass();
  // Calls that arrive from now on are not recorded.
  std::vector<Pass> take_passes();
  std::size_t bytes() const;  // of all answers so far, roughly

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace igpu::capture
