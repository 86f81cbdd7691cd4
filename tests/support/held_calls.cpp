// SPDX-License-Identifier: Apache-2.0
#include "support/held_calls.h"

#include <fcntl.h>
#include <poll.h>
#include <seccomp.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

namespace igpu::test {
namespace {

int filter_this_thread() {
  (void)::seccomp_reset(nullptr, SCMP_ACT_ALLOW);  // otherwise the process has one listener only
  const scmp_filter_ctx filter = ::seccomp_init(SCMP_ACT_ALLOW);
  for (const char* name : {"stat", "lstat", "newfstatat", "statx", "open", "openat"}) {
    const int number = ::seccomp_syscall_resolve_name(name);
    if (number >= 0) (void)::seccomp_rule_add(filter, SCMP_ACT_NOTIFY, number, 0);
  }
  (void)::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  const int loaded = ::seccomp_load(filter);
  const int descriptor = loaded == 0 ? ::fcntl(::seccomp_notify_fd(filter), F_DUPFD_CLOEXEC, 0) : -1;
  ::seccomp_release(filter);
  return descriptor;
}

}  // namespace

struct HeldCalls::Supervisor {
  int calls = -1;
  const int wake = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  std::mutex mutex;
  std::condition_variable changed;
  bool holding = false;
  bool ending = false;
  std::vector<std::uint64_t> held;
  std::thread thread;

  void go_on(std::uint64_t id) const {
    seccomp_notif_resp answer{};
    answer.id = id;
    answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    (void)::seccomp_notify_respond(calls, &answer);
  }

  void run() {
    for (;;) {
      pollfd wanted[2] = {{calls, POLLIN, 0}, {wake, POLLIN, 0}};
      (void)::poll(wanted, 2, -1);
      const std::lock_guard lock(mutex);
      eventfd_t ignored = 0;
      (void)::eventfd_read(wake, &ignored);
      if (!holding || ending) {
        for (const std::uint64_t id : held) go_on(id);
        held.clear();
      }
      if (ending) return;
      if ((wanted[0].revents & POLLIN) != 0) {
        seccomp_notif call{};
        if (::seccomp_notify_receive(calls, &call) == 0) {
          holding ? held.push_back(call.id) : go_on(call.id);
        }
      } else if ((wanted[0].revents & POLLHUP) != 0) {
        calls_ended();
      }
      changed.notify_all();
    }
  }

  void calls_ended() {
    ::close(calls);
    calls = -1;  // poll takes no notice of it
  }

  void set(bool& what, bool value) {
    {
      const std::lock_guard lock(mutex);
      what = value;
    }
    (void)::eventfd_write(wake, 1);
  }
};

HeldCalls::HeldCalls(const std::function<void()>& on_such_a_thread) : supervisor_(std::make_unique<Supervisor>()) {
  std::mutex mutex;
  std::condition_variable ready;
  bool filtered = false;
  std::thread thread([&] {
    const int descriptor = filter_this_thread();
    {
      const std::lock_guard lock(mutex);
      supervisor_->calls = descriptor;
      filtered = true;
    }
    ready.notify_one();
    if (descriptor >= 0) on_such_a_thread();
  });
  {
    std::unique_lock lock(mutex);
    ready.wait(lock, [&] { return filtered; });
  }
  if (supervisor_->calls < 0) {
    thread.join();
    throw std::runtime_error("this kernel has no seccomp notifications (5.0 has)");
  }
  supervisor_->thread = std::thread([this] { supervisor_->run(); });
  thread.join();
}

HeldCalls::~HeldCalls() {
  if (!supervisor_->thread.joinable()) return;
  supervisor_->set(supervisor_->ending, true);
  supervisor_->thread.join();
  if (supervisor_->calls >= 0) ::close(supervisor_->calls);
  ::close(supervisor_->wake);
}

void HeldCalls::hold() { supervisor_->set(supervisor_->holding, true); }

void HeldCalls::release() {
  supervisor_->set(supervisor_->holding, false);
  std::unique_lock lock(supervisor_->mutex);
  supervisor_->changed.wait(lock, [this] { return supervisor_->held.empty(); });
}

void HeldCalls::wait_for_one() {
  std::unique_lock lock(supervisor_->mutex);
  supervisor_->changed.wait(lock, [this] { return !supervisor_->held.empty(); });
}

}  // namespace igpu::test
