// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "top/mailbox.h"
#include "top/pace.h"
#include "top/screen.h"

namespace igpu::exporter::top {

// The frames of all hosts with their history, as they come out of the mailbox.
class Readings {
 public:
  explicit Readings(std::vector<std::string> hosts);

  void take(Mailbox& mailbox);
  const Frame& frame() const { return frame_; }
  const History& history() const { return history_; }
  bool any() const;       // a host was read or has failed
  bool complete() const;  // every host was read or has failed

 private:
  Frame frame_;
  History history_;
};

struct LiveOptions {
  std::string source;
  bool colours = true;
  std::function<std::string()> notice;  // the newest message of the library
};

// Signals that concern a terminal, blocked in this thread and in those that it starts later.
class TerminalSignals {
 public:
  TerminalSignals();
  int descriptor() const { return descriptor_.get(); }
  int next();  // its number; 0: none

 private:
  UniqueFd descriptor_;
};

// The full-screen view, until q or a signal. Throws std::runtime_error if there is no such terminal.
void run_live_view(Readings& readings, Mailbox& mailbox, Pace& pace, TerminalSignals& signals,
                   const LiveOptions& options);

// Clocks and interval of a drawing that is made now.
ScreenContext context_now(std::chrono::nanoseconds interval);

std::string clock_text();
std::string interval_text(std::chrono::nanoseconds interval);

}  // namespace igpu::exporter::top
