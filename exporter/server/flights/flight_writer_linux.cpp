// SPDX-License-Identifier: Apache-2.0
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "platform/own_process.h"
#include "platform/thread.h"
#include "server/flights/flight_files.h"
#include "server/flights/flight_writer.h"

namespace igpu::exporter {
namespace {

using SteadyClock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::uint64_t kLargest = std::uint64_t{256} << 20U;  // ten minutes of a rack at 100 Hz are less

HelperAnswer answer_of(int error, std::string_view what) {
  HelperAnswer answer;
  answer.code = static_cast<std::uint32_t>(error);
  put_text(what, answer.problem);
  return answer;
}

template <class Act>
HelperAnswer outcome_of(const Act& act) {
  try {
    act();
    return {};
  } catch (const std::system_error& error) {
    // "create: No space left on device": the reader knows the second half.
    const std::string_view what = error.what();
    return answer_of(error.code().value(), what.substr(0, what.find(':')));
  }
}

struct NoAnswer : std::runtime_error {
  NoAnswer() : std::runtime_error("the process that writes flights does not answer") {}
};

// A socket that is not waited for longer than that, or, once the program ends, than kGrace.
class Waiter {
 public:
  static constexpr milliseconds kGrace{5'000}, kStep{200};
  Waiter(int socket, milliseconds time_limit, const std::stop_token* stop)
      : socket_(socket), stop_(stop), until_(SteadyClock::now() + time_limit) {}

  // Throws NoAnswer.
  bool operator()(short events) {
    for (;;) {
      const auto now = SteadyClock::now();
      if (stop_ != nullptr && stop_->stop_requested()) until_ = std::min(until_, now + kGrace);
      if (now >= until_) throw NoAnswer();
      pollfd waiting{socket_, events, 0};
      const auto left = std::chrono::ceil<milliseconds>(until_ - now);
      const int count = ::poll(&waiting, 1, static_cast<int>(std::min(kStep, left).count()));
      if (count > 0) return true;
      if (count < 0 && errno != EINTR) throw std::system_error(errno, std::generic_category(), "poll");
    }
  }

 private:
  const int socket_;
  const std::stop_token* const stop_;
  SteadyClock::time_point until_;
};

[[noreturn]] void fail_for_end() { throw std::runtime_error("the process that writes flights has ended"); }

const HelperAnswer& receive_answer(HelperSocket& socket, Waiter&& waiter) {
  if (socket.finish(waiter) != HelperSocket::Exchange::done) fail_for_end();
  return socket.answer();
}

std::string text_of(const HelperAnswer& answer) {
  return std::string(answer.problem.data()) + ": " + std::generic_category().message(static_cast<int>(answer.code));
}

constexpr const char* kMakeRoom =
    "make room in --flight.directory, or make the folder again and restart; the last flights are still in memory "
    "(/api/v1/flights)";
constexpr const char* kSlowDisk =
    "flights are written again when the disk answers; the last ones are still in memory (/api/v1/flights)";
constexpr const char* kRestart = "restart the exporter; the last flights are still in memory (/api/v1/flights)";

}  // namespace

void write_flights(int socket, const FlightFolder& folder) {
  report_start(socket, outcome_of([&] { folder.check(); }));
  serve_requests(socket, FlightFolder::kLongestName, kLargest,
                 [&](const HelperRequest& flight) -> std::optional<HelperAnswer> {
                   if (!FlightFolder::is_name(flight.first)) return std::nullopt;
                   return outcome_of([&] { folder.keep(std::string(flight.first), flight.second); });
                 });
}

void report_no_folder(int socket, int error, std::string_view what) { report_start(socket, answer_of(error, what)); }

FlightKeeper::FlightKeeper(std::shared_ptr<const Flights> flights, UniqueFd socket, Log& log, milliseconds time_limit)
    : flights_(std::move(flights)), socket_(std::move(socket)), log_(log), time_limit_(time_limit) {
  const HelperAnswer& answer = receive_answer(socket_, {socket_.descriptor(), time_limit_, nullptr});
  if (answer.code == ENOSPC || answer.code == EDQUOT) {
    log_.write(LogLevel::warn, "flights cannot be written", {{"error", text_of(answer)}, {"hint", kMakeRoom}});
  } else if (answer.code != 0) {
    throw std::runtime_error(text_of(answer));
  }
}

void FlightKeeper::start() {
  thread_ = std::jthread([this](const std::stop_token& stop) {
    name_thread("flights");
    std::uint64_t last = 0;
    while (const auto flight = flights_->next_after(last, stop)) {
      if (const std::uint64_t gone = flight->number - last - 1; gone > 0) {
        failures_ += gone - 1;
        failed("flights came faster than they could be written", kMakeRoom);
      }
      last = flight->number;
      write(*flight, stop);
    }
  });
}

void FlightKeeper::write(const Flight& flight, const std::stop_token& stop) {
  try {
    if (!socket_) fail_for_end();
    // One that took too long was counted as not written.
    if (is_unanswered_) {
      if (const std::string problem = exchange(stop); problem.empty())
        ++kept_;
      else
        log_.write(LogLevel::warn, "a flight could not be written", {{"error", problem}, {"hint", kMakeRoom}});
    }
    const std::string name = FlightFolder::name_of(flight);
    const std::string bytes = flight_trace(flight, boottime_offset());
    if (bytes.size() > kLargest) throw std::length_error("the flight is too large");
    socket_.put({.first = name, .second = bytes});
    is_unanswered_ = true;
    if (const std::string problem = exchange(stop); !problem.empty()) return failed(problem, kMakeRoom);
    ++kept_;
    failed_ = false;
  } catch (const NoAnswer& error) {
    failed(error.what(), kSlowDisk);
  } catch (const std::length_error& error) {
    failed(error.what(), "shorten --flight.length");
  } catch (const std::exception& error) {
    socket_.close();  // what would come over it belongs to this flight
    failed(error.what(), kRestart);
  }
}

// What went wrong with the newest flight, or "". Throws NoAnswer.
std::string FlightKeeper::exchange(const std::stop_token& stop) {
  const HelperAnswer& answer = receive_answer(socket_, {socket_.descriptor(), time_limit_, &stop});
  is_unanswered_ = false;
  return answer.code == 0 ? std::string() : text_of(answer);
}

void FlightKeeper::failed(const std::string& error, const char* hint) {
  ++failures_;
  if (std::exchange(failed_, true)) return;
  log_.write(LogLevel::warn, "a flight could not be written", {{"error", error}, {"hint", hint}});
}

}  // namespace igpu::exporter
