// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>

#include <functional>
#include <thread>
#include <utility>

#include "machine/device_users.h"

namespace igpu {

// A thread that sleeps in the kernel and calls `changed` whenever the kernel reports a change.
class ChangeListener {
 public:
  ChangeListener(ChangeSignal& signal, std::function<void()> changed)
      : signal_(signal), thread_([this, call = std::move(changed)] {
          ::pthread_setname_np(::pthread_self(), "events");
          while (signal_.wait()) call();
        }) {}
  ~ChangeListener() {
    signal_.interrupt();
    thread_.join();
  }
  ChangeListener(const ChangeListener&) = delete;
  ChangeListener& operator=(const ChangeListener&) = delete;

 private:
  ChangeSignal& signal_;
  std::thread thread_;
};

}  // namespace igpu
