// SPDX-License-Identifier: Apache-2.0
#include "server/push/pusher.h"

#include <exception>
#include <random>
#include <utility>

#include "platform/thread.h"

namespace igpu::exporter {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kAttempt(10);  // OTLP's default
constexpr std::chrono::seconds kGoodbye(1);
constexpr std::chrono::minutes kIdle(10);

std::function<double()> random_numbers() {
  return [engine = std::minstd_rand(std::random_device()())]() mutable {
    return std::uniform_real_distribution<double>(0, 1)(engine);
  };
}

}  // namespace

PushDelivery::PushDelivery(std::unique_ptr<PushTarget> target, PushCounters& counters, Log& log)
    : target_(std::move(target)), counters_(counters), log_(log), backoff_(random_numbers()) {}

void PushDelivery::start() {
  thread_ = std::thread([this] { run(); });
}

PushDelivery::~PushDelivery() {
  stop_.raise();
  work_.raise();
  if (thread_.joinable()) thread_.join();
}

void PushDelivery::add(const PageView& page, std::chrono::system_clock::time_point time) {
  PushItem item = target_->encode(page, time);
  if (item.samples == 0) return;
  {
    const std::lock_guard lock(mutex_);
    counters_.dropped += queue_.add(std::move(item));
    counters_.queue_length = queue_.size();
  }
  work_.raise();
}

void PushDelivery::run() {
  name_thread(("push-" + std::string(target_->name())).substr(0, 15).c_str());
  deliver_until_stopped();
  try {
    target_->stop({Clock::now() + kGoodbye});
  } catch (const std::exception&) {
    // The receiver does without the goodbye.
  }
  const std::lock_guard lock(mutex_);
  if (queue_.size() == 0) return;
  log_.write(LogLevel::warn, "readings were not delivered before the end",
             {{"target", target_->name()},
              {"readings", std::to_string(queue_.size())},
              {"hint", problem_.empty() ? "none needed: the last interval had just ended" : problem_}});
}

void PushDelivery::deliver_until_stopped() {
  while (!stop_.raised()) {
    std::shared_ptr<const PushItem> item;
    {
      work_.clear();
      const std::lock_guard lock(mutex_);
      if (!stop_.raised()) item = queue_.take();
    }
    if (!item) {
      if (stop_.raised()) return;
      try {
        target_->idle({Clock::now() + kIdle, work_.descriptor()});
      } catch (const std::exception& error) {
        report(PushOutcome::later(error.what()));
      }
      continue;
    }
    const PushOutcome outcome = attempt(*item);
    if (stop_.raised() && outcome.kind == PushOutcome::Kind::later) return;
    report(outcome);
    if (account(*item, outcome)) {
      backoff_.reset();
    } else {
      (void)PushWait{Clock::now() + backoff_.next(outcome.retry_after), stop_.descriptor()}.on(-1, 0);
    }
  }
}

PushOutcome PushDelivery::attempt(const PushItem& item) {
  try {
    return target_->deliver(item.bytes, {Clock::now() + kAttempt, stop_.descriptor()});
  } catch (const std::exception& error) {
    return PushOutcome::refused(std::string(error.what()) + "; please report this");
  }
}

bool PushDelivery::account(const PushItem& item, const PushOutcome& outcome) {
  const std::lock_guard lock(mutex_);
  if (outcome.kind != PushOutcome::Kind::delivered) ++counters_.failures;
  if (outcome.kind == PushOutcome::Kind::later) {
    queue_.give_back();
    return false;
  }
  const std::uint64_t lost =
      outcome.kind == PushOutcome::Kind::refused ? item.samples : std::min(outcome.rejected, item.samples);
  counters_.dropped += lost;
  counters_.samples += item.samples - lost;
  queue_.finish();
  counters_.queue_length = queue_.size();
  return true;
}

void PushDelivery::report(const PushOutcome& outcome) {
  if (outcome.problem == problem_) return;
  problem_ = outcome.problem;
  if (problem_.empty()) {
    log_.write(LogLevel::info, "readings are delivered again", {{"target", target_->name()}});
    return;
  }
  std::string_view then = "the reading is kept and tried again";
  if (outcome.kind == PushOutcome::Kind::refused) then = "the reading is dropped";
  if (outcome.kind == PushOutcome::Kind::delivered) then = "a part of the reading is dropped";
  log_.write(LogLevel::warn, "a reading was not delivered",
             {{"target", target_->name()}, {"error", problem_}, {"detail", outcome.detail}, {"then", then}});
}

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
  name_thread("push");
  Clock::time_point next = Clock::now();
  while (!gone.stop_requested()) {
    read_once(gone);
    const Clock::time_point now = Clock::now();
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
