// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "igpu/monitor.h"
#include "igpu/unique_fd.h"
#include "view/client/http_fetcher.h"
#include "view/top/host_frame.h"
#include "view/top/screen.h"

namespace igpu::exporter::top {

// The interval between two readings, which the user may change at any time. Thread-safe.
class Pace {
 public:
  explicit Pace(std::chrono::nanoseconds interval) : interval_(interval) {}

  std::chrono::nanoseconds interval() const {
    const std::lock_guard lock(mutex_);
    return interval_;
  }
  void change(std::chrono::nanoseconds interval) {
    {
      const std::lock_guard lock(mutex_);
      interval_ = interval;
    }
    changed_.notify_all();
  }
  // Waits until one interval has passed since `since`. False: stopped.
  bool wait(std::chrono::steady_clock::time_point since, const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (!stop.stop_requested()) {
      const auto until = since + interval_;
      if (std::chrono::steady_clock::now() >= until) return true;
      changed_.wait_until(lock, stop, until, [&, waited = interval_] { return interval_ != waited; });
    }
    return false;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::chrono::nanoseconds interval_;
};

// Passes frames from the threads that read hosts to the thread that draws.
class Mailbox {
 public:
  Mailbox();  // throws std::system_error

  void put(std::size_t host, HostFrame frame);
  std::vector<std::pair<std::size_t, HostFrame>> take_frames();  // the newest frame of each host
  int descriptor() const { return event_.get(); }                // readable while frames are waiting

 private:
  std::mutex mutex_;
  std::vector<std::pair<std::size_t, HostFrame>> frames_;
  UniqueFd event_;
};

// Command lines of the caller's own processes. Those of other users are not read, whatever permissions would show:
// arguments may hold passwords. Each is read once.
class OwnCommands {
 public:
  void add_to(HostFrame& frame);

 private:
  std::unordered_map<std::string, std::string> known_;  // by cpu_key()
};

// A source reads in its own thread and puts frames into the mailbox until it is destroyed. Monitor, fetcher, mailbox
// and pace must outlive it.
class LocalSource {
 public:
  // real: the processes are those of this machine, not simulated.
  LocalSource(Monitor& monitor, Mailbox& mailbox, Pace& pace, bool real);

 private:
  std::jthread thread_;
};

class RemoteSource {
 public:
  RemoteSource(HttpFetcher& fetcher, const std::vector<ScrapeTarget>& targets, Mailbox& mailbox, Pace& pace);

 private:
  std::jthread thread_;
};

// The frame of a fetched page. If the page is missing or invalid, the frame has state failed and says why.
HostFrame frame_of(const Fetched& fetched, const std::string& name);
// The frame of one scrape of this machine. If the scrape fails, the frame has state failed and says why.
HostFrame read_frame(Monitor& monitor, const std::stop_token& stop);

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

}  // namespace igpu::exporter::top
