// SPDX-License-Identifier: Apache-2.0
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "platform/own_process.h"
#include "platform/regular_file.h"
#include "platform/thread.h"
#include "server/flights/flight_files.h"
#include "text/text.h"

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

constexpr std::string_view kPrefix = "flight-";
constexpr std::string_view kSuffix = ".pftrace";
constexpr std::string_view kUnfinished = ".new-flight-";
constexpr int kCreate = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
constexpr mode_t kMode = 0640;

[[noreturn]] void fail(const std::string& what) { throw std::system_error(errno, std::generic_category(), what); }

// So that nobody else can have made a file of this name in a folder that others may write to.
std::string random_digits() {
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof number, 0) != static_cast<ssize_t>(sizeof number)) fail("getrandom");
  return formatted("%016llx", static_cast<unsigned long long>(number));
}

// Of regular files. Sorted: the oldest first. owner: only this user's.
std::vector<std::string> names_in(int folder, std::string_view prefix, std::string_view suffix,
                                  std::optional<uid_t> owner = {}) {
  UniqueFd again(::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));  // has a position of its own
  if (!again) fail("open");
  const std::unique_ptr<DIR, int (*)(DIR*)> list(::fdopendir(again.get()), ::closedir);
  if (!list) fail("list");
  (void)again.release();  // the list closes it
  std::vector<std::string> names;
  while (const dirent* const entry = ::readdir(list.get())) {
    const std::string_view name = entry->d_name;
    struct stat facts {};
    if (name.starts_with(prefix) && name.ends_with(suffix) &&
        ::fstatat(folder, entry->d_name, &facts, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(facts.st_mode) &&
        facts.st_uid == owner.value_or(facts.st_uid))
      names.emplace_back(name);
  }
  std::ranges::sort(names);
  return names;
}

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

FlightFolder::FlightFolder(const std::string& path)
    : folder_(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)), owner_(::geteuid()) {
  if (!folder_) fail(path);
  for (const std::string& name : names_in(folder_.get(), kUnfinished, {}, owner_))
    (void)::unlinkat(folder_.get(), name.c_str(), 0);
}

void FlightFolder::keep(std::string name, std::string_view bytes) const {
  const std::string unfinished = std::string(kUnfinished) + random_digits();
  UniqueFd file(::openat(folder_.get(), unfinished.c_str(), kCreate, kMode));
  if (!file) fail("create");
  try {
    if (write_all(file.get(), bytes) != 0) fail("write");
    if (::fsync(file.get()) != 0) fail("fsync");
    struct stat other {};
    if (::fstatat(folder_.get(), name.c_str(), &other, AT_SYMLINK_NOFOLLOW) == 0 &&
        (!S_ISREG(other.st_mode) || other.st_uid != owner_))
      name.insert(name.rfind('-'), "-" + random_digits());
    if (::renameat(folder_.get(), unfinished.c_str(), folder_.get(), name.c_str()) != 0) fail("rename");
  } catch (const std::system_error&) {
    (void)::unlinkat(folder_.get(), unfinished.c_str(), 0);
    throw;
  }
  // A clock that was put back makes names of the past: the new flight is not the one that goes.
  std::vector<std::string> names = names_in(folder_.get(), kPrefix, kSuffix, owner_);
  std::erase(names, name);
  std::stable_partition(names.begin(), names.end(),
                        [](const std::string& one) { return one.ends_with("-request.pftrace"); });
  for (std::size_t i = 0; i + (kMost - 1) < names.size(); ++i)
    if (::unlinkat(folder_.get(), names[i].c_str(), 0) != 0 && errno != ENOENT) fail("remove " + names[i]);
}

void FlightFolder::check() const {
  const std::string name = std::string(kUnfinished) + random_digits();
  const UniqueFd file(::openat(folder_.get(), name.c_str(), kCreate, kMode));
  if (!file) fail("create");
  if (::unlinkat(folder_.get(), name.c_str(), 0) != 0) fail("remove");
}

std::vector<std::string> FlightFolder::names(const std::string& path) {
  const UniqueFd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder) fail(path);
  return names_in(folder.get(), kPrefix, kSuffix);
}

std::string FlightFolder::name_of(const Flight& flight) {
  const time_t seconds = std::chrono::duration_cast<std::chrono::seconds>(unix_time(flight, flight.event.time)).count();
  // Padded, so that flights of one second sort by number as well.
  return std::string(kPrefix) + utc_text(seconds, "%Y%m%dT%H%M%SZ-") +
         formatted("%06llu-", static_cast<unsigned long long>(flight.number)) +
         std::string(to_string(flight.event.cause)) + std::string(kSuffix);
}

bool FlightFolder::is_name(std::string_view name) {
  return name.size() <= kLongestName && name.starts_with(kPrefix) && name.ends_with(kSuffix) &&
         name.find('/') == std::string_view::npos && name.find('\0') == std::string_view::npos;
}

}  // namespace igpu::exporter
