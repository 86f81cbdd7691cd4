// SPDX-License-Identifier: Apache-2.0
// Uevents of this machine's kernel.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "igpu/unique_fd.h"
#include "kernel/faults/kernel_records.h"
#include "machine/kernel_messages.h"
#include "machine/machine.h"

using namespace igpu;
using namespace std::chrono_literals;

namespace {

constexpr const char* kDevice = "devices/virtual/mem/null";  // /dev/null, which every machine has

// Asks the kernel for a uevent, as `udevadm trigger` does. False: not permitted.
bool trigger() {
  const std::string path = "/sys/" + std::string(kDevice) + "/uevent";
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  return file && ::write(file.get(), "change", 6) == 6;
}

bool arrives(KernelMessages& uevents) {
  std::vector<char> buffer(KernelMessages::kLongest);
  const auto deadline = std::chrono::steady_clock::now() + 30s;
  while (std::chrono::steady_clock::now() < deadline) {
    const auto message = uevents.next(buffer);
    if (!message) return false;
    if (message->state == KernelMessage::State::none) std::this_thread::sleep_for(1ms);
    const auto event = message->state == KernelMessage::State::message ? parse_uevent(message->text) : std::nullopt;
    if (event && event->action == "change" && event->path == kDevice) return true;
  }
  return false;
}

// Of open_uevents() in a user namespace of its own; nothing if this machine makes none.
std::optional<Absent> in_user_namespace() {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    if (::unshare(CLONE_NEWUSER) != 0) ::_exit(0);
    const auto opened = open_uevents(system_privileges()->in_initial_user_namespace());
    const Absent why = opened.is_absent() ? opened.absent() : Absent{Reason::hardware};
    ::_exit(::write(ends[1], &why, sizeof why) == static_cast<ssize_t>(sizeof why) ? 0 : 1);
  }
  writer.reset();
  Absent why{Reason::hardware};
  const bool has_answer = ::read(reader.get(), &why, sizeof why) == static_cast<ssize_t>(sizeof why);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  return has_answer ? std::optional(why) : std::nullopt;
}

}  // namespace

TEST_SUITE_BEGIN("uevents");

TEST_CASE("the kernel sends its uevents to everybody, or there is a reason") {
  const auto uevents = open_uevents(system_privileges()->in_initial_user_namespace());
  if (!uevents) {
    CHECK(uevents.is_absent());
    return;
  }
  if (!trigger()) {
    MESSAGE("this machine's /sys may not be written: no uevent to wait for");
    return;
  }
  CHECK(arrives(**uevents));
}

TEST_CASE("in a user namespace they are absent, with that reason") {
  if (const auto why = in_user_namespace()) CHECK(*why == Absent{Reason::permission, EUSERS});
}

TEST_SUITE_END();
