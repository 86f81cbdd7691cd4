// SPDX-License-Identifier: Apache-2.0
#include "registry/worker.h"

#include <pthread.h>

namespace igpu {

void Worker::loop(State& state) {
  ::pthread_setname_np(::pthread_self(), "collect");
  std::unique_lock lock(state.mutex);
  for (;;) {
    state.changed.wait(lock, [&] { return state.stopping || state.job; });
    if (!state.job) return;
    std::function<void()> job = std::exchange(state.job, nullptr);
    lock.unlock();
    job();
    job = nullptr;  // frees what it holds before the next wait
    lock.lock();
  }
}

}  // namespace igpu
