// SPDX-License-Identifier: Apache-2.0
#include "server/push/pusher.h"

#include <pthread.h>

#include <chrono>
#include <exception>

namespace igpu::exporter {

Pusher::~Pusher() {
  stop_.raise();
  thread_ = {};  // requests its stop, and joins it
}

void Pusher::add(std::unique_ptr<PushTarget> target, PushCounters& counters) {
  deliveries_.emplace_back(std::move(target), counters, log_);
}

void Pusher::start() {
  for (PushDelivery& delivery : deliveries_) delivery.start();
  thread_ = std::jthread([this](const std::stop_token& gone) { run(gone); });
}

void Pusher::run(const std::stop_token& gone) {
  ::pthread_setname_np(::pthread_self(), "push");
  using SteadyClock = std::chrono::steady_clock;
  SteadyClock::time_point next = SteadyClock::now();
  while (!gone.stop_requested()) {
    read_once(gone);
    const SteadyClock::time_point now = SteadyClock::now();
    // Missed readings are left out; the others stay on time.
    do next += interval_;
    while (next <= now);
    (void)PushWait{next, stop_.descriptor()}.on(-1, 0);
  }
}

void Pusher::read_once(const std::stop_token& gone) {
  std::string error = "other scrapes took all the time";
  bool read = false;
  try {
    read = read_(gone, [this](const PageView& page) {
      const auto time = std::chrono::system_clock::now();
      std::exception_ptr failed;
      for (PushDelivery& delivery : deliveries_) {
        try {
          delivery.add(page, time);
        } catch (const std::exception&) {
          failed = std::current_exception();  // the other targets get the reading
        }
      }
      if (failed) std::rethrow_exception(failed);
    });
  } catch (const std::exception& failed) {
    error = failed.what();
  }
  if (gone.stop_requested() || read == reads_) return;
  reads_ = read;
  if (read) {
    log_.write(LogLevel::info, "readings are pushed again");
    return;
  }
  log_.write(LogLevel::warn, "a reading was not pushed",
             {{"error", error}, {"hint", "raise --web.timeout or --push.interval"}});
}

}  // namespace igpu::exporter
