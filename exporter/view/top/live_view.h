// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "view/top/screen.h"
#include "view/top/sources.h"

namespace igpu::exporter::top {

// The latest frames of all hosts, and their history.
class Readings {
 public:
  explicit Readings(std::vector<std::string> hosts);

  void read_from(Mailbox& mailbox);
  const Frame& frame() const { return frame_; }
  const History& history() const { return history_; }
  bool any() const;       // a host was read or has failed
  bool complete() const;  // every host was read or has failed

 private:
  Frame frame_;
  History history_;
  std::vector<ChannelRates> channels_;  // by host
};

struct LiveOptions {
  std::string source;
  bool colours = true;
  std::function<void(ScreenContext&)> add_messages;  // of the library
};

// The signals that concern a terminal. They are blocked in this thread and in threads that it starts later, and read
// from a descriptor.
class TerminalSignals {
 public:
  TerminalSignals();
  int descriptor() const { return descriptor_.get(); }
  int next();  // the number of a pending signal; 0: none

 private:
  UniqueFd descriptor_;
};

// Runs the full-screen view until q is pressed or a signal arrives. Throws std::runtime_error if the terminal cannot
// show it.
void run_live_view(Readings& readings, Mailbox& mailbox, Pace& pace, TerminalSignals& signals,
                   const LiveOptions& options);

// The context of a drawing made now: clocks and interval.
ScreenContext context_now(std::chrono::nanoseconds interval);

std::string clock_text();
std::string interval_text(std::chrono::nanoseconds interval);

}  // namespace igpu::exporter::top
