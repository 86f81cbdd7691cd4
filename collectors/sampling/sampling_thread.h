// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <thread>

#include "machine/interval_timer.h"
#include "sampling/sampler.h"

namespace igpu::sampling {

// Calls Sampler::tick() at every multiple of the interval, on a thread that blocks all signals. The thread has the
// rights of the one that constructs this. Throws std::system_error.
class SamplingThread {
 public:
  SamplingThread(Sampler& sampler, Nanoseconds interval);  // sampler must outlive it
  ~SamplingThread();                                       // waits for the tick that is under way
  SamplingThread(const SamplingThread&) = delete;
  SamplingThread& operator=(const SamplingThread&) = delete;

 private:
  TickTimer timer_;
  std::thread thread_;
};

}  // namespace igpu::sampling
