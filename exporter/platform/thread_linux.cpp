// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>

#include <csignal>

#include "platform/thread.h"

namespace igpu::exporter {

void name_thread(const char* name) { ::pthread_setname_np(::pthread_self(), name); }

void block_broken_pipes() {
  sigset_t pipe;
  ::sigemptyset(&pipe);
  ::sigaddset(&pipe, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
}

void block_all_signals() {
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

}  // namespace igpu::exporter
