// SPDX-License-Identifier: Apache-2.0
#include <linux/perf_event.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <optional>
#include <utility>

#include "igpu/unique_fd.h"
#include "machine/filesystem.h"
#include "machine/perf_events.h"

namespace igpu {
namespace {

// Empty: see errno.
UniqueFd open_perf_event(const PerfEventConfig& event, int cpu, int leader) {
  perf_event_attr attributes;
  std::memset(&attributes, 0, sizeof attributes);
  attributes.size = sizeof attributes;
  attributes.type = event.type;
  attributes.config = event.config;
  attributes.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  return UniqueFd(static_cast<int>(
      ::syscall(SYS_perf_event_open, &attributes, -1, cpu, leader, static_cast<unsigned long>(PERF_FLAG_FD_CLOEXEC))));
}

Reading<std::unique_ptr<PerfEvent>> perf_event_not_opened(int error) {
  // Here a wrong argument is an event this kernel or hardware does not have.
  if (error == EINVAL) return Absent{Reason::kernel, EINVAL};
  // No kernel for x86 lacks the call: a seccomp profile hides it (Podman's with CAP_SYS_ADMIN alone).
  if (error == ENOSYS) return Absent{Reason::permission, ENOSYS};
  return outcome_of_errno<std::unique_ptr<PerfEvent>>(error, "perf_event_open");
}

class LinuxPerfEvent : public PerfEvent {
 public:
  explicit LinuxPerfEvent(UniqueFd fd) : fd_(std::move(fd)) {}
  Reading<std::span<const std::uint64_t>> read(std::span<std::uint64_t> words) override {
    ssize_t count;
    do count = ::read(fd_.get(), words.data(), words.size_bytes());
    while (count < 0 && errno == EINTR);
    if (count < 0) return outcome_of_errno<std::span<const std::uint64_t>>(errno, "read of a perf event group");
    return std::span<const std::uint64_t>(words.first(static_cast<std::size_t>(count) / sizeof(std::uint64_t)));
  }
  int fd() const { return fd_.get(); }

 protected:
  void close() { fd_.reset(); }

 private:
  UniqueFd fd_;
};

class LinuxPerfEvents final : public PerfEvents {
 public:
  Reading<std::unique_ptr<PerfEvent>> open(const PerfEventConfig& event, int cpu, PerfEvent* leader) override {
    UniqueFd fd = open_perf_event(event, cpu, leader ? static_cast<LinuxPerfEvent*>(leader)->fd() : -1);
    if (!fd) return perf_event_not_opened(errno);
    return std::unique_ptr<PerfEvent>(std::make_unique<LinuxPerfEvent>(std::move(fd)));
  }
};

// Opening takes microseconds. Longer means that a driver hangs.
constexpr std::chrono::seconds kLongestWait(1);
constexpr std::size_t kMostLeaders = 256;  // one for each PMU, and for memory controllers one for each package

bool send_request(int socket, const PerfRequest& request) {
  ssize_t sent;
  do sent = ::send(socket, &request, sizeof request, MSG_NOSIGNAL);
  while (sent < 0 && errno == EINTR);
  return sent == sizeof request;
}

// Empty: the other process has ended.
std::optional<PerfAnswer> receive_answer(int socket, UniqueFd& event) {
  PerfAnswer answer;
  ssize_t size;
  do size = receive_with_fd(socket, &answer, sizeof answer, event, 0);
  while (size < 0 && errno == EINTR);
  if (size != sizeof answer) return std::nullopt;
  return answer;
}

// The other process has the leader open, too, until it is told that this one has closed it.
class RemoteLeader final : public LinuxPerfEvent {
 public:
  RemoteLeader(UniqueFd fd, int socket, std::int32_t number)
      : LinuxPerfEvent(std::move(fd)), socket_(socket), number_(number) {}
  ~RemoteLeader() override {
    close();
    PerfRequest closed;
    closed.leader = number_;
    (void)send_request(socket_, closed);
  }
  RemoteLeader(const RemoteLeader&) = delete;
  RemoteLeader& operator=(const RemoteLeader&) = delete;
  std::int32_t number() const { return number_; }

 private:
  int socket_;
  std::int32_t number_;
};

class RemotePerfEvents final : public PerfEvents {
 public:
  explicit RemotePerfEvents(int socket) : socket_(socket) {}

  Reading<std::unique_ptr<PerfEvent>> open(const PerfEventConfig& event, int cpu, PerfEvent* leader) override {
    const Turn turn(*this);
    if (!turn.taken()) {
      return Failure{std::make_error_code(kWaitsForAnother),
                     "an earlier request to open a perf event has not come back"};
    }
    if (++serial_ == 0) ++serial_;
    PerfRequest request{event.config, event.type, cpu, PerfRequest::kNone, serial_};
    if (leader != nullptr) request.leader = static_cast<RemoteLeader*>(leader)->number();
    if (!send_request(socket_, request)) return ended();
    UniqueFd fd;
    std::optional<PerfAnswer> answer;
    do answer = receive_answer(socket_, fd);
    while (answer && answer->serial != request.serial);
    if (!answer) return ended();
    if (answer->error != 0) return perf_event_not_opened(answer->error);
    if (!fd) {  // the kernel leaves out what exceeds the limit of descriptors
      // The other process has the leader open: the end of this object tells it to close it.
      if (answer->number != PerfRequest::kNone) RemoteLeader(UniqueFd(), socket_, answer->number);
      return perf_event_not_opened(EMFILE);
    }
    if (leader != nullptr) return std::unique_ptr<PerfEvent>(std::make_unique<LinuxPerfEvent>(std::move(fd)));
    return std::unique_ptr<PerfEvent>(std::make_unique<RemoteLeader>(std::move(fd), socket_, answer->number));
  }

 private:
  // One request at a time, and a limit for the wait. Not a std::timed_mutex: GCC 12's ThreadSanitizer does not know the
  // call that locks it.
  class Turn {
   public:
    explicit Turn(RemotePerfEvents& events) : events_(events) {
      std::unique_lock lock(events_.mutex_);
      taken_ = events_.free_.wait_for(lock, kLongestWait, [&] { return !events_.busy_; });
      if (taken_) events_.busy_ = true;
    }
    ~Turn() {
      if (!taken_) return;
      {
        const std::lock_guard lock(events_.mutex_);
        events_.busy_ = false;
      }
      events_.free_.notify_one();
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    bool taken() const { return taken_; }

   private:
    RemotePerfEvents& events_;
    bool taken_ = false;
  };

  static Failure ended() {
    return {std::make_error_code(std::errc::broken_pipe),
            "the process that opens perf events has ended: restart the exporter"};
  }

  const int socket_;
  std::mutex mutex_;
  std::condition_variable free_;
  bool busy_ = false;
  std::uint32_t serial_ = 0;
};

}  // namespace

std::unique_ptr<PerfEvents> system_perf_events() { return std::make_unique<LinuxPerfEvents>(); }

std::unique_ptr<PerfEvents> remote_perf_events(int socket) { return std::make_unique<RemotePerfEvents>(socket); }

void serve_perf_events(int socket, const std::function<bool(const PerfEventConfig&)>& may_open) {
  std::array<UniqueFd, kMostLeaders> leaders;
  for (;;) {
    PerfRequest request;
    const ssize_t size = ::recv(socket, &request, sizeof request, 0);
    if (size < 0 && errno == EINTR) continue;
    if (size != sizeof request) return;  // the other process has ended, or sends what it never does
    const auto at = static_cast<std::size_t>(request.leader);
    const bool known = request.leader >= 0 && at < leaders.size() && leaders[at];
    if (request.serial == 0) {
      if (known) leaders[at].reset();
      continue;
    }
    PerfAnswer answer;
    answer.serial = request.serial;
    const PerfEventConfig event{request.type, request.config};
    UniqueFd fd;
    if (request.leader != PerfRequest::kNone && !known) {
      answer.error = EBADF;
    } else if (!may_open(event)) {
      answer.error = EPERM;
    } else {
      fd = open_perf_event(event, request.cpu, known ? leaders[at].get() : -1);
      if (!fd) answer.error = errno;
    }
    UniqueFd* place = nullptr;
    if (fd && !known) {
      for (UniqueFd& leader : leaders) {
        if (leader) continue;
        place = &leader;
        answer.number = static_cast<std::int32_t>(place - leaders.data());
        break;
      }
      if (place == nullptr) {
        fd.reset();
        answer.error = EMFILE;
      }
    }
    if (!send_with_fd(socket, &answer, sizeof answer, fd.get())) {
      if (errno == EPIPE || errno == ECONNRESET || !fd) return;
      // The descriptor cannot be sent now: too many are on their way, or memory is short.
      answer.error = errno;
      answer.number = PerfRequest::kNone;
      place = nullptr;
      if (!send_with_fd(socket, &answer, sizeof answer, -1)) return;
    }
    if (place != nullptr) *place = std::move(fd);
  }
}

}  // namespace igpu
