// SPDX-License-Identifier: Apache-2.0
#include "cli/stats_output.h"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <system_error>

namespace igpu::exporter {

StatsOutput::StatsOutput(bool handles_signals) {
  // A closed pipe is then an error of write(), after which the summary is still printed.
  (void)std::signal(SIGPIPE, SIG_IGN);
  if (handles_signals) signals_.emplace();
  struct stat facts {};
  to_file_ = ::fstat(STDOUT_FILENO, &facts) == 0 && S_ISREG(facts.st_mode);
}

StatsOutput::Outcome StatsOutput::write(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EPIPE) {
      return Outcome::reader_gone;
    } else if (errno == EAGAIN) {  // inherited from a parent that made the pipe non-blocking
      pollfd writable{STDOUT_FILENO, POLLOUT, 0};
      (void)::poll(&writable, 1, -1);
    } else if (errno != EINTR) {
      throw std::system_error(errno, std::generic_category(), "standard output");
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
    std::array<pollfd, 2> events{{{STDOUT_FILENO, 0, 0}, {signals_ ? signals_->descriptor() : -1, POLLIN, 0}}};
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

ProgressLine::~ProgressLine() { end(); }

void ProgressLine::show(std::string_view text) {
  if (!wanted_) return;
  const auto now = std::chrono::steady_clock::now();
  if (!on_terminal_ && now < next_) return;
  next_ = now + std::chrono::seconds(10);
  constexpr std::string_view kEraseToEnd = "\033[K";
  std::fprintf(stderr, "%s%.*s%s", on_terminal_ ? "\r" : "", static_cast<int>(text.size()), text.data(),
               on_terminal_ ? kEraseToEnd.data() : "\n");
  std::fflush(stderr);
  open_ = on_terminal_;
}

void ProgressLine::end() {
  if (open_) std::fputc('\n', stderr);
  open_ = false;
}

}  // namespace igpu::exporter
