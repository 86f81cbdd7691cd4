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

struct EndPostponed::State {
  sigset_t before;
};

EndPostponed::EndPostponed() : state_(std::make_unique<State>()) {
  sigset_t signals;
  ::sigemptyset(&signals);
  for (const int number : {SIGHUP, SIGINT, SIGQUIT, SIGTERM}) ::sigaddset(&signals, number);
  ::pthread_sigmask(SIG_BLOCK, &signals, &state_->before);
}

EndPostponed::~EndPostponed() { ::pthread_sigmask(SIG_SETMASK, &state_->before, nullptr); }

}  // namespace igpu::exporter
