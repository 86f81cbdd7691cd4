// SPDX-License-Identifier: Apache-2.0
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <initializer_list>
#include <system_error>
#include <utility>

#include "view/stats/stats_writer.h"

namespace igpu::exporter {

StatsOutput::StatsOutput(bool handles_signals, std::string file)
    : descriptor_(file.empty() ? STDOUT_FILENO : -1), file_(std::move(file)) {
  // A closed pipe is then an error of write(), after which the summary is still printed.
  (void)std::signal(SIGPIPE, SIG_IGN);
  if (handles_signals) signals_.emplace();
  const mode_t hidden = ::umask(0);
  (void)::umask(hidden);
  new_mode_ = 0666 & ~hidden;
  struct stat facts {};
  to_file_ = ::fstat(descriptor_, &facts) == 0 && S_ISREG(facts.st_mode);
}

StatsOutput::StatsOutput(const Manner& manner) : StatsOutput(false) {
  descriptor_ = manner.descriptor;
  longest_wait_ = manner.longest_wait;
  signals_.emplace(std::initializer_list<int>{SIGINT});
}

std::optional<StatsOutput::Outcome> StatsOutput::wait_for_reader() {
  std::array<pollfd, 2> events{{{descriptor_, POLLOUT, 0}, {signals_ ? signals_->descriptor() : -1, POLLIN, 0}}};
  const int count = ::poll(events.data(), events.size(), static_cast<int>(longest_wait_->count()));
  if (count == 0) throw std::system_error(ETIMEDOUT, std::generic_category(), "the reader of the output");
  if (count < 0 || events[0].revents != 0) return std::nullopt;  // an error is one of write() as well
  return Outcome::interrupted;
}

// That of the file which is replaced, or of any new one.
mode_t StatsOutput::mode_of_file() const {
  struct stat before {};
  return ::lstat(file_.c_str(), &before) == 0 ? before.st_mode & 0777 : new_mode_;
}

StatsOutput::Outcome StatsOutput::write_stream(std::string_view text) {
  while (!text.empty()) {
    if (longest_wait_)
      if (const std::optional<Outcome> end = wait_for_reader()) return *end;
    const ssize_t written =
        ::write(descriptor_, text.data(), longest_wait_ ? std::min<std::size_t>(text.size(), PIPE_BUF) : text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EPIPE) {
      return Outcome::reader_gone;
    } else if (errno == EAGAIN) {  // inherited from a parent that made the pipe non-blocking
      pollfd writable{descriptor_, POLLOUT, 0};
      (void)::poll(&writable, 1, longest_wait_ ? 1 : -1);
    } else if (errno != EINTR) {
      throw std::system_error(errno, std::generic_category(),
                              descriptor_ == STDOUT_FILENO ? "standard output" : "output file");
    }
  }
  return Outcome::goes_on;
}

StatsOutput::Outcome StatsOutput::wait_until(std::chrono::steady_clock::time_point time) {
  for (;;) {
    const auto left = std::max(time - std::chrono::steady_clock::now(), std::chrono::steady_clock::duration::zero());
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
    const timespec timeout{seconds.count(), std::chrono::nanoseconds(left - seconds).count()};
    // poll() reports an error on a pipe without a reader whatever is asked of it; a descriptor of -1 is skipped.
    std::array<pollfd, 2> events{{{descriptor_, 0, 0}, {signals_ ? signals_->descriptor() : -1, POLLIN, 0}}};
    const int count = ::ppoll(events.data(), events.size(), &timeout, nullptr);
    if (count < 0 && errno != EINTR) throw std::system_error(errno, std::generic_category(), "poll");
    if (count > 0 && events[1].revents != 0) return Outcome::interrupted;
    if (count > 0 && (events[0].revents & POLLERR) != 0) return Outcome::reader_gone;
    if (std::chrono::steady_clock::now() >= time) return Outcome::goes_on;
    // Something else about standard output, such as a terminal that hung up: the next write reports it.
    if (count > 0) return Outcome::goes_on;
  }
}

ProgressLine::ProgressLine(bool wanted) : wanted_(wanted), on_terminal_(::isatty(STDERR_FILENO) == 1) {}

}  // namespace igpu::exporter
