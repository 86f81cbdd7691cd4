// SPDX-License-Identifier: Apache-2.0
#include "machine/this_process.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

namespace igpu {

int current_process_id() { return ::getpid(); }

Nanoseconds processor_time() {
  timespec used{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return std::chrono::seconds(used.tv_sec) + Nanoseconds(used.tv_nsec);
}

void name_this_thread(const char* name) { ::pthread_setname_np(::pthread_self(), name); }

}  // namespace igpu
