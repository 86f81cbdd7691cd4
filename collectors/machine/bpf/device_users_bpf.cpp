// SPDX-License-Identifier: Apache-2.0
#include "machine/device_users.h"

#ifndef IGPU_HAS_BPF
#include <cerrno>

namespace igpu {

Reading<std::unique_ptr<DeviceUsers>> open_device_users(const DeviceMajors&, const std::string&) {
  return Absent{Reason::disabled, ENOSYS};
}

}  // namespace igpu

#else
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>

#include "base/scan.h"
#include "device_users_object.h"
#include "igpu/unique_fd.h"
#include "machine/bpf/bpf_object.h"
#include "machine/filesystem.h"

namespace igpu {
namespace {

using bpf::descriptor_of;
using bpf::Link;
using bpf::Object;
using bpf::program;

struct FreeRing {
  void operator()(ring_buffer* ring) const { ::ring_buffer__free(ring); }
};
using Ring = std::unique_ptr<ring_buffer, FreeRing>;

constexpr const char* kLister = "list_holders";
constexpr std::array kReporters{"descriptor_installed", "process_forked", "thread_ended"};

// Mirrors struct lost_changes of device_users.bpf.c.
enum LostChange : std::uint8_t { kLostCount, kHoldersMissing, kOwnDescriptors, kLostChanges };

// Mirrors `settings`.
struct FinderSettings {
  DeviceMajors device_majors;
  std::uint32_t own_process;
};

// errno says why there is none. The kernel may have the iterator and yet refuse the programs that report changes:
// without CONFIG_FUNCTION_TRACER, for example.
Object load_finder(const FinderSettings& settings, bool with_reporters) {
  Object object = bpf::open_object(device_users_object, device_users_objectSize, "igpu_users", settings);
  if (!object) return nullptr;
  if (!with_reporters)
    for (const char* name : kReporters) ::bpf_program__set_autoload(program(object, name), false);
  return bpf::loaded(std::move(object));
}

class BpfDeviceUsers final : public DeviceUsers, public ChangeSignal {
 public:
  BpfDeviceUsers(Object object, Link lister) : object_(std::move(object)), lister_(std::move(lister)) {}

  // False: nothing is reported.
  bool attach_reporters() {
    for (std::size_t i = 0; i < kReporters.size(); ++i) {
      reporters_[i].reset(::bpf_program__attach(program(object_, kReporters[i])));
      if (!reporters_[i]) return false;
    }
    lost_ = std::make_unique<bpf::MappedSlots>(descriptor_of(object_, "lost"), kLostChanges, PROT_READ);
    ring_.reset(::ring_buffer__new(descriptor_of(object_, "changed"), &BpfDeviceUsers::take, this, nullptr));
    return lost_->get() != nullptr && ring_ && are_called() && prepare_waiting();
  }

  bool wait() override {
    epoll_event event{};
    for (;;) {
      const int count = ::epoll_wait(waiter_.get(), &event, 1, -1);
      if (count < 0 && errno == EINTR) continue;
      return count == 1 && event.data.u32 == changed_event;
    }
  }

  void interrupt() override {
    constexpr std::uint64_t kOnce = 1;
    (void)!::write(interruption_.get(), &kOnce, sizeof kOnce);
  }

  Reading<std::vector<std::uint32_t>> list() override {
    const UniqueFd pass(create_pass());
    if (!pass) return outcome_of_errno<std::vector<std::uint32_t>>(errno, "bpf(BPF_ITER_CREATE)");
    std::vector<std::uint32_t> processes;
    std::array<std::uint32_t, 1024> buffer;
    std::size_t kept = 0;  // bytes at the start of the buffer
    char* const bytes = reinterpret_cast<char*>(buffer.data());
    for (;;) {
      const ssize_t count = ::read(pass.get(), bytes + kept, sizeof buffer - kept);
      if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;  // EAGAIN: a million files without a match
      if (count < 0) return outcome_of_errno<std::vector<std::uint32_t>>(errno, "BPF iterator of open files");
      if (count == 0) break;
      kept += static_cast<std::size_t>(count);
      const std::size_t whole = kept / sizeof buffer[0];
      processes.insert(processes.end(), buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(whole));
      kept -= whole * sizeof buffer[0];
      std::memmove(bytes, bytes + whole * sizeof buffer[0], kept);
    }
    std::ranges::sort(processes);
    return processes;
  }

  bool reports_changes() const override { return ring_ != nullptr; }
  ChangeSignal* change_signal() override { return ring_ ? this : nullptr; }

  Changes changes() override {
    taken_ = Changes{};
    if (!ring_) return {};
    const std::uint64_t lost = read_lost(kLostCount);
    taken_.some_lost = lost != last_lost_;
    last_lost_ = lost;
    if (::ring_buffer__consume(ring_.get()) < 0) taken_.some_lost = true;
    return std::move(taken_);
  }

 private:
  // The kernel attaches programs to functions and yet never calls them where tracing is off
  // (kernel.ftrace_enabled=0).
  bool are_called() const {
    const UniqueFd descriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    return descriptor && read_lost(kOwnDescriptors) != 0;
  }
  // The raw call: after the sandbox is closed it is the only command of bpf(2) that is left.
  int create_pass() const {
    bpf_attr attributes;
    std::memset(&attributes, 0, sizeof attributes);
    attributes.iter_create.link_fd = static_cast<std::uint32_t>(::bpf_link__fd(lister_.get()));
    return static_cast<int>(::syscall(SYS_bpf, BPF_ITER_CREATE, &attributes, sizeof attributes));
  }
  enum Event : std::uint32_t { changed_event, interrupted_event };
  // The kernel wakes us once, for the first change after changes() was called.
  bool prepare_waiting() {
    waiter_.reset(::epoll_create1(EPOLL_CLOEXEC));
    interruption_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    return waiter_ && interruption_ && waits_for(descriptor_of(object_, "changed"), EPOLLIN | EPOLLET, changed_event) &&
           waits_for(interruption_.get(), EPOLLIN, interrupted_event);
  }
  bool waits_for(int fd, std::uint32_t events, Event which) const {
    epoll_event event{};
    event.events = events;
    event.data.u32 = which;
    return ::epoll_ctl(waiter_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
  }
  std::uint64_t read_lost(LostChange which) const { return __atomic_load_n(lost_->get() + which, __ATOMIC_ACQUIRE); }
  static int take(void* self, void* data, std::size_t size) {
    std::uint32_t process;
    if (size >= sizeof process) {
      std::memcpy(&process, data, sizeof process);
      static_cast<BpfDeviceUsers*>(self)->taken_.processes.push_back(process);
    }
    return 0;
  }

  Object object_;
  Link lister_;
  std::array<Link, kReporters.size()> reporters_;
  std::unique_ptr<bpf::MappedSlots> lost_;
  Ring ring_;
  UniqueFd waiter_, interruption_;
  Changes taken_;
  std::uint64_t last_lost_ = 0;
};

// The programs report the kernel's own numbers of processes: those of the initial PID namespace, where process 2 is
// always kthreadd. Below /proc it may be hidden (mount option hidepid).
bool shows_kernel_numbers(const std::string& procfs_root) {
  std::ifstream file(procfs_root + "/2/comm");
  std::string comm;
  if (std::getline(file, comm)) return comm == "kthreadd";
  constexpr ino_t kInitial = 0xEFFFFFFC;  // PROC_PID_INIT_INO, include/linux/proc_ns.h
  struct ::stat facts {};
  return procfs_root == "/proc" && ::stat("/proc/self/ns/pid", &facts) == 0 && facts.st_ino == kInitial;
}

// The number of our process in the kernel; 0: unknown.
std::uint32_t own_number(const std::string& procfs_root) {
  std::array<char, 32> link{};
  const ssize_t size = ::readlink((procfs_root + "/self").c_str(), link.data(), link.size());
  if (size <= 0) return 0;
  return scan_integer<std::uint32_t>(std::string_view(link.data(), static_cast<std::size_t>(size))).value_or(0);
}

std::unique_ptr<BpfDeviceUsers> make(FinderSettings settings, bool with_reporters) {
  Object object = load_finder(settings, with_reporters);
  if (!object) return nullptr;
  Link lister(::bpf_program__attach_iter(program(object, kLister), nullptr));
  if (!lister) return nullptr;
  auto users = std::make_unique<BpfDeviceUsers>(std::move(object), std::move(lister));
  if (with_reporters && !users->attach_reporters()) return nullptr;
  return users;
}

}  // namespace

Reading<std::unique_ptr<DeviceUsers>> open_device_users(const DeviceMajors& majors, const std::string& procfs_root) {
  if (!shows_kernel_numbers(procfs_root)) return Absent{Reason::kernel, ENOENT};
  bpf::silence_libbpf();
  const FinderSettings settings{majors, own_number(procfs_root)};
  std::unique_ptr<BpfDeviceUsers> users = make(settings, true);
  if (!users) users = make(settings, false);
  if (users) return std::unique_ptr<DeviceUsers>(std::move(users));
  return bpf::why_not();
}

static_assert(LIBBPF_MAJOR_VERSION > 1 || (LIBBPF_MAJOR_VERSION == 1 && LIBBPF_MINOR_VERSION >= 1));

}  // namespace igpu
#endif
