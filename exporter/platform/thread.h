// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

namespace igpu::exporter {

// All functions are for the calling thread. name: at most 15 characters.
void name_thread(const char* name);

// Makes writing to a broken connection an error instead of a signal, because OpenSSL writes without MSG_NOSIGNAL.
void block_broken_pipes();
void block_all_signals();

// While it exists, no signal that ends the program is delivered to this thread.
class EndPostponed {
 public:
  EndPostponed();
  ~EndPostponed();
  EndPostponed(const EndPostponed&) = delete;
  EndPostponed& operator=(const EndPostponed&) = delete;

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

}  // namespace igpu::exporter
