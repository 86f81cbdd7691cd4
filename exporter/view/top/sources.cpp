// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <exception>
#include <system_error>

#include "text/text.h"
#include "view/top/live_view.h"

namespace igpu::exporter::top {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMaxProblemBytes = 300;

HostFrame failed(const std::string& name, const std::string& problem) {
  return {.name = name, .state = HostState::failed, .problem = clean_text(problem, kMaxProblemBytes)};
}

// Its command line is read from its memory, for which a process that hangs in the kernel, as in a driver, may hold the
// lock: the reader would hang, too.
bool waits_in_kernel(int folder) {
  const UniqueFd file(::openat(folder, "stat", O_RDONLY | O_CLOEXEC));
  std::array<char, 512> text{};
  const ssize_t size = file ? ::read(file.get(), text.data(), text.size()) : 0;
  const std::string_view stat(text.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  const std::size_t name_end = stat.rfind(')');
  return name_end == stat.npos || !stat.substr(name_end).starts_with(") ") ||
         stat.substr(name_end + 2).starts_with('D');
}

std::string command_of(std::uint32_t pid) {
  const UniqueFd folder(::open(("/proc/" + std::to_string(pid)).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  struct stat status {};
  if (!folder || ::fstat(folder.get(), &status) != 0 || status.st_uid != ::getuid()) return "";
  if (waits_in_kernel(folder.get())) return "";
  const UniqueFd file(::openat(folder.get(), "cmdline", O_RDONLY | O_CLOEXEC));
  std::array<char, 4096> text{};
  const ssize_t size = file ? ::read(file.get(), text.data(), text.size()) : 0;
  std::string command(text.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  while (command.ends_with('\0')) command.pop_back();
  std::ranges::replace(command, '\0', ' ');
  return clean_text(command);
}

void read_locally(const std::stop_token& stop, Monitor& monitor, Mailbox& mailbox, Pace& pace, bool real) {
  OwnCommands commands;
  Clock::time_point next;
  do {
    // A reading that took longer than the interval is followed by the next at once; times do not add up.
    next = std::max(next + pace.interval(), Clock::now());
    HostFrame frame = read_frame(monitor, stop);
    if (stop.stop_requested()) return;
    if (real) commands.add_to(frame);
    mailbox.put(0, std::move(frame));
  } while (pace.wait(next, stop));
}

void read_remotely(const std::stop_token& stop, HttpFetcher& fetcher, const std::vector<ScrapeTarget>& targets,
                   Mailbox& mailbox, Pace& pace) {
  const std::stop_callback wake(stop, [&fetcher] { fetcher.wake(); });
  std::vector<Clock::time_point> started(targets.size(), Clock::time_point::min());
  while (!stop.stop_requested()) {
    const auto interval = pace.interval();
    const auto now = Clock::now();
    auto next = now + std::chrono::milliseconds(500);  // the interval may have changed
    for (std::size_t i = 0; i < targets.size(); ++i) {
      if (fetcher.under_way(i)) continue;
      if (started[i] == Clock::time_point::min() || started[i] + interval <= now) {
        started[i] = now;
        fetcher.start(i);
      } else {
        next = std::min(next, started[i] + interval);
      }
    }
    fetcher.run(next, [&](std::size_t index, const Fetched& fetched) {
      mailbox.put(index, frame_of(fetched, targets[index].name));
    });
  }
}

void stamp(HostFrame& frame) {
  frame.time = Clock::now().time_since_epoch();
  frame.unix_time = Seconds{std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count()};
}

}  // namespace

Mailbox::Mailbox() : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!event_) throw std::system_error(errno, std::generic_category(), "eventfd");
}

void Mailbox::put(std::size_t host, HostFrame frame) {
  const std::lock_guard lock(mutex_);
  std::erase_if(frames_, [host](const auto& entry) { return entry.first == host; });
  frames_.emplace_back(host, std::move(frame));
  const std::uint64_t one = 1;
  (void)!::write(event_.get(), &one, sizeof one);
}

std::vector<std::pair<std::size_t, HostFrame>> Mailbox::take_frames() {
  const std::lock_guard lock(mutex_);
  std::uint64_t count = 0;
  (void)!::read(event_.get(), &count, sizeof count);
  return std::exchange(frames_, {});
}

HostFrame frame_of(const Fetched& fetched, const std::string& name) {
  if (!fetched.problem.empty()) return failed(name, fetched.problem);
  try {
    HostFrame frame = frame_of(std::string_view(fetched.body));
    frame.name = clean_text(name);
    stamp(frame);
    return frame;
  } catch (const std::exception& error) {
    return failed(name, error.what());
  }
}

void OwnCommands::add_to(HostFrame& frame) {
  std::unordered_map<std::string, std::string> now;
  for (const GpuModel& gpu : frame.gpus) {
    for (const snapshot::Process& process : rows_of(gpu.processes)) {
      const auto [entry, added] = now.try_emplace(cpu_key(process));
      if (!added) continue;
      const auto known = known_.find(entry->first);
      entry->second =
          known == known_.end() || known->second.empty() ? command_of(process.pid) : std::move(known->second);
    }
  }
  known_ = std::move(now);
  frame.commands = known_;
}

HostFrame read_frame(Monitor& monitor, const std::stop_token& stop) {
  try {
    const auto result = monitor.scrape({.gone = stop});
    if (result == nullptr) return {};
    HostFrame frame = frame_of(PageView(result->lists()));
    stamp(frame);
    return frame;
  } catch (const std::exception& error) {
    return failed("", error.what());
  }
}

LocalSource::LocalSource(Monitor& monitor, Mailbox& mailbox, Pace& pace, bool real)
    : thread_([&monitor, &mailbox, &pace, real](const std::stop_token& stop) {
        read_locally(stop, monitor, mailbox, pace, real);
      }) {}

RemoteSource::RemoteSource(HttpFetcher& fetcher, const std::vector<ScrapeTarget>& targets, Mailbox& mailbox, Pace& pace)
    : thread_([&fetcher, &targets, &mailbox, &pace](const std::stop_token& stop) {
        read_remotely(stop, fetcher, targets, mailbox, pace);
      }) {}

}  // namespace igpu::exporter::top
