// SPDX-License-Identifier: Apache-2.0
#include "sampling/sampling_thread.h"

#include <pthread.h>

namespace igpu::sampling {

SamplingThread::SamplingThread(Sampler& sampler, Nanoseconds interval) : timer_(interval) {
  const SignalsBlocked signals_blocked;
  thread_ = std::thread([this, &sampler] {
    ::pthread_setname_np(::pthread_self(), "sample");
    while (const std::uint64_t expirations = timer_.wait()) sampler.tick(expirations);
  });
}

SamplingThread::~SamplingThread() {
  timer_.stop();
  thread_.join();
}

}  // namespace igpu::sampling
