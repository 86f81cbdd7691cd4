// SPDX-License-Identifier: Apache-2.0
// The BPF programs on the kernel that runs the tests, with a device that every machine has.
#include "machine/device_users.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <functional>

#include "igpu/unique_fd.h"
#include "machine/device_users.h"

using namespace igpu;

namespace {

constexpr std::uint32_t kMemoryDevices = 1;  // /dev/null, /dev/zero
constexpr std::uint32_t kNoDevice = 4095;

// Ends with the test. Opens /dev/zero this many times when it is told to.
class Opener {
 public:
  explicit Opener(int count) {
    std::array<int, 2> commands{}, answers{};
    REQUIRE(::pipe2(commands.data(), O_CLOEXEC) == 0);
    REQUIRE(::pipe2(answers.data(), O_CLOEXEC) == 0);
    commands_.reset(commands[1]);
    answers_.reset(answers[0]);
    const UniqueFd command(commands[0]);
    const UniqueFd answer(answers[1]);
    pid_ = ::fork();
    REQUIRE(pid_ >= 0);
    if (pid_ > 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    char byte = 0;
    // Of what the tests have open nothing may count.
    for (int fd = 0; fd < 256; ++fd)
      if (fd != command.get() && fd != answer.get()) ::close(fd);
    (void)!::write(answer.get(), "r", 1);
    (void)!::read(command.get(), &byte, 1);
    for (int i = 0; i < count; ++i) (void)!::open("/dev/zero", O_RDONLY | O_CLOEXEC);
    (void)!::write(answer.get(), "o", 1);
    for (;;) ::pause();
  }
  ~Opener() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Opener(const Opener&) = delete;
  Opener& operator=(const Opener&) = delete;
  void wait() const {
    char byte;
    REQUIRE(::read(answers_.get(), &byte, 1) == 1);
  }
  void open() const {
    REQUIRE(::write(commands_.get(), "o", 1) == 1);
    wait();
  }
  std::uint32_t pid() const { return static_cast<std::uint32_t>(pid_); }

 private:
  UniqueFd commands_, answers_;
  pid_t pid_ = 0;
};

// Null where this build, user or kernel has no BPF; then the reason must be one that the exporter reports.
std::unique_ptr<DeviceUsers> users_of(std::uint32_t major) {
  Reading<std::unique_ptr<DeviceUsers>> users = open_device_users({major, kNoDevice}, "/proc");
  if (users) return *std::move(users);
  REQUIRE(users.is_absent());
  const Reason reason = users.absent().reason;
  CHECK((reason == Reason::permission || reason == Reason::kernel || reason == Reason::disabled));
  MESSAGE("not checked: no BPF here, reason " << to_string(reason));
  return nullptr;
}

}  // namespace

TEST_SUITE_BEGIN("kernel: users of a device");

TEST_CASE("each process is listed once for every descriptor of the device, and reported when it opens one") {
  const auto users = users_of(kMemoryDevices);
  if (!users) return;
  const Opener opener(3);
  opener.wait();
  const auto descriptors = [&] {
    const auto listed = users->list();
    REQUIRE(listed);
    CHECK(std::is_sorted(listed->begin(), listed->end()));
    return std::count(listed->begin(), listed->end(), opener.pid());
  };
  CHECK(descriptors() == 0);
  (void)users->changes();
  opener.open();
  CHECK(descriptors() == 3);
  if (!users->reports_changes()) {
    MESSAGE("not checked: this kernel does not report changes");
    return;
  }
  const DeviceUsers::Changes changes = users->changes();
  CHECK((changes.some_lost || std::count(changes.processes.begin(), changes.processes.end(), opener.pid()) == 3));
  CHECK(users->changes().processes.size() < 3 + changes.processes.size());  // each is reported once
}

TEST_CASE("a wait ends with the next change, and with an interruption") {
  const auto users = users_of(kMemoryDevices);
  ChangeSignal* const changes = users->change_signal();
  if (!changes) {
    MESSAGE("not checked: this kernel does not report changes");
    return;
  }
  const Opener opener(1);
  opener.wait();
  (void)users->changes();
  opener.open();
  CHECK(changes->wait());
  changes->interrupt();
  while (changes->wait()) {  // others open devices as well
  }
  CHECK_FALSE(changes->wait());
}

TEST_CASE("nobody has a device that does not exist") {
  const auto users = users_of(kNoDevice);
  if (!users) return;
  const auto listed = users->list();
  REQUIRE(listed);
  CHECK(listed->empty());
  CHECK(users->changes().processes.empty());
}

TEST_CASE("without the privileges it is absent, and the reason is the permission") {
  if (!users_of(kNoDevice)) return;
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    if (::geteuid() == 0 && ::setuid(65534) != 0) ::_exit(2);
    const auto users = open_device_users({kNoDevice, kNoDevice}, "/proc");
    ::_exit(!users && users.is_absent() && users.absent().reason == Reason::permission ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("a copy of /proc is not the kernel's, and one with other numbers is of no use") {
  CHECK(is_procfs("/proc"));
  CHECK_FALSE(is_procfs("/tmp"));
  CHECK_FALSE(is_procfs("/nowhere"));
  const auto users = open_device_users({kNoDevice, kNoDevice}, "/nowhere");
  REQUIRE_FALSE(users);
  CHECK((users.absent().reason == Reason::kernel || users.absent().reason == Reason::disabled));
}

TEST_SUITE_END();
