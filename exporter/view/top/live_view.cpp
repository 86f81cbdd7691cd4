// SPDX-License-Identifier: Apache-2.0
#include "view/top/live_view.h"

#include <poll.h>
#include <pthread.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <system_error>

#include "text/text.h"

namespace igpu::exporter::top {
namespace {

using namespace std::chrono_literals;

constexpr std::array<std::chrono::milliseconds, 9> kIntervals{100ms, 250ms, 500ms, 1s, 2s, 5s, 10s, 30s, 60s};

std::chrono::nanoseconds next_interval(std::chrono::nanoseconds now, bool slower) {
  if (slower) {
    for (const auto interval : kIntervals) {
      if (interval > now) return interval;
    }
    return now;
  }
  auto found = now;
  for (const auto interval : kIntervals) {
    if (interval < now) found = interval;
  }
  return found;
}

class LiveView {
 public:
  LiveView(Readings& readings, Mailbox& mailbox, Pace& pace, TerminalSignals& signals, const LiveOptions& options)
      : readings_(readings),
        mailbox_(mailbox),
        pace_(pace),
        signals_(signals),
        options_(options),
        terminal_(options.colours) {}

  void run() {
    readings_.read_from(mailbox_);
    draw_now();
    while (!done_) {
      std::array<pollfd, 3> events{
          {{STDIN_FILENO, POLLIN, 0}, {signals_.descriptor(), POLLIN, 0}, {mailbox_.descriptor(), POLLIN, 0}}};
      // The clock goes on while a host does not answer.
      const int count = ::poll(events.data(), events.size(), 1000);
      if (count < 0 && errno != EINTR) throw std::system_error(errno, std::generic_category(), "poll");
      if (count > 0 && events[1].revents != 0) handle_signals();
      if (count > 0 && (events[0].revents & POLLIN) != 0) handle_keys();
      if (count > 0 && (events[0].revents & (POLLHUP | POLLERR | POLLNVAL)) != 0) return;  // the terminal is gone
      if (count > 0 && events[2].revents != 0 && !view_.paused) readings_.read_from(mailbox_);
      if (count > 0 && events[2].revents != 0 && view_.paused) (void)mailbox_.take_frames();
      if (!done_) draw_now();
    }
  }

 private:
  void draw_now() {
    const Size size = terminal_.fit();
    forget_gone_gpu();
    ScreenContext context = context_now(pace_.interval());
    context.source = options_.source;
    options_.add_messages(context);
    if (view_.over == Over::messages) view_.messages_seen = context.message_count;
    context.unicode = terminal_.unicode();
    screen_ = draw(readings_.frame(), readings_.history(), view_, context, size);
    terminal_.paint(screen_.canvas);
  }

  // A host that failed has no GPUs until it answers again.
  void forget_gone_gpu() {
    if (!view_.focus) return;
    const Frame& frame = readings_.frame();
    const GpuPlace& focus = *view_.focus;
    const bool known = focus.host < frame.hosts.size() && (focus.gpu < frame.hosts[focus.host].gpus.size() ||
                                                           frame.hosts[focus.host].state != HostState::ok);
    if (!known) view_.focus.reset();
  }

  void handle_keys() {
    bool any = false;
    while (const std::optional<Input> input = terminal_.input()) {
      any = true;
      apply(react(view_, *input, screen_, readings_.frame()));
      if (done_) return;
    }
    // Readable, but nothing to read: the other side of the terminal has closed.
    if (!any && ++empty_reads_ > 3) done_ = true;
    if (any) empty_reads_ = 0;
  }

  void apply(Reaction reaction) {
    switch (reaction) {
      case Reaction::draw: break;
      case Reaction::quit: done_ = true; break;
      case Reaction::redraw_all: terminal_.redraw_all(); break;
      case Reaction::faster:
      case Reaction::slower: pace_.change(next_interval(pace_.interval(), reaction == Reaction::slower)); break;
    }
  }

  void handle_signals() {
    while (const int signal = signals_.next()) {
      if (signal == SIGTSTP) {
        suspend();
      } else if (signal == SIGCONT) {
        terminal_.redraw_all();
      } else if (signal != SIGWINCH) {  // drawing takes over the size
        done_ = true;
        return;
      }
    }
  }

  // Stops this program as the shell expects it: by the signal itself, with the terminal restored.
  void suspend() {
    terminal_.suspend();
    sigset_t stop;
    ::sigemptyset(&stop);
    ::sigaddset(&stop, SIGTSTP);
    (void)std::signal(SIGTSTP, SIG_DFL);
    (void)::raise(SIGTSTP);                                // blocked: stays pending
    (void)::pthread_sigmask(SIG_UNBLOCK, &stop, nullptr);  // stops here until SIGCONT
    (void)::pthread_sigmask(SIG_BLOCK, &stop, nullptr);
    terminal_.redraw_all();
  }

  Readings& readings_;
  Mailbox& mailbox_;
  Pace& pace_;
  TerminalSignals& signals_;
  const LiveOptions& options_;
  Terminal terminal_;
  ViewState view_;
  Screen screen_{.canvas = Canvas(Size{})};
  bool done_ = false;
  int empty_reads_ = 0;
};

}  // namespace

Readings::Readings(std::vector<std::string> hosts) : channels_(hosts.size()) {
  for (std::string& name : hosts) frame_.hosts.push_back({.name = std::move(name)});
}

void Readings::read_from(Mailbox& mailbox) {
  for (auto& [index, host] : mailbox.take_frames()) {
    if (index >= frame_.hosts.size()) continue;
    add_rates(host, frame_.hosts[index]);
    history_.add(index, host);
    if (host.state == HostState::ok) {
      channels_[index].note(host, host.unix_time);
      host.channel_rates = channels_[index].list();
    }
    frame_.hosts[index] = std::move(host);
  }
}

bool Readings::any() const {
  return std::ranges::any_of(frame_.hosts, [](const HostFrame& host) { return host.state != HostState::waiting; });
}

bool Readings::complete() const {
  return std::ranges::none_of(frame_.hosts, [](const HostFrame& host) { return host.state == HostState::waiting; });
}

TerminalSignals::TerminalSignals() {
  (void)std::signal(SIGPIPE, SIG_IGN);  // a host may close its connection while libcurl writes
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGWINCH}) ::sigaddset(&set, signal);
  if (const int error = ::pthread_sigmask(SIG_BLOCK, &set, nullptr); error != 0)
    throw std::system_error(error, std::generic_category(), "pthread_sigmask");
  descriptor_ = UniqueFd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!descriptor_) throw std::system_error(errno, std::generic_category(), "signalfd");
}

int TerminalSignals::next() {
  signalfd_siginfo info{};
  if (::read(descriptor_.get(), &info, sizeof info) != static_cast<ssize_t>(sizeof info)) return 0;
  return static_cast<int>(info.ssi_signo);
}

void run_live_view(Readings& readings, Mailbox& mailbox, Pace& pace, TerminalSignals& signals,
                   const LiveOptions& options) {
  LiveView(readings, mailbox, pace, signals, options).run();
}

ScreenContext context_now(std::chrono::nanoseconds interval) {
  // A reading of a slow machine takes a second or two.
  return {.clock = clock_text(),
          .interval = formatted("%g s", std::chrono::duration<double>(interval).count()),
          .late_after = interval + 2s,
          .now = std::chrono::steady_clock::now().time_since_epoch()};
}

std::string clock_text() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  std::array<char, 16> text{};
  if (::localtime_r(&now, &local) != nullptr) (void)std::strftime(text.data(), text.size(), "%H:%M:%S", &local);
  return text.data();
}

}  // namespace igpu::exporter::top
