// SPDX-License-Identifier: Apache-2.0
// Process trees on the kernel that runs the tests: what is added up is what the kernel charges.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <string>

#include "base/tree_usage.h"
#include "igpu/unique_fd.h"
#include "kernel/clients/process.h"
#include "support/child_process.h"
#include "support/real_machine.h"

using namespace igpu;
using namespace igpu::test;

namespace {

struct Pipe {
  Pipe() { REQUIRE(::pipe(ends.data()) == 0); }
  ~Pipe() {
    ::close(ends[0]);
    ::close(ends[1]);
  }
  std::array<int, 2> ends{};
};

void burn(long milliseconds) {
  timespec used{};
  do ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  while (used.tv_sec * 1000 + used.tv_nsec / 1'000'000 < milliseconds);
}

double seconds_of(const rusage& usage) {
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// A script that runs children one after the other, then reports what the kernel charged for all of it, and waits.
[[noreturn]] void run_script(int children, const Pipe& report, const Pipe& end) {
  for (int i = 0; i < children; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      const pid_t grandchild = ::fork();
      if (grandchild == 0) {
        burn(20);
        ::_exit(0);
      }
      burn(20);
      ::waitpid(grandchild, nullptr, 0);
      ::_exit(0);
    }
    ::waitpid(child, nullptr, 0);
  }
  rusage own{}, of_children{};
  ::getrusage(RUSAGE_SELF, &own);
  ::getrusage(RUSAGE_CHILDREN, &of_children);
  const double charged = seconds_of(own) + seconds_of(of_children);
  if (::write(report.ends[1], &charged, sizeof charged) != sizeof charged) ::_exit(1);
  char byte;
  if (::read(end.ends[0], &byte, 1) != 1) ::_exit(1);
  ::_exit(0);
}

}  // namespace

TEST_SUITE_BEGIN("process tree on this kernel");

TEST_CASE("a script with short children costs what the kernel charges, however it is scanned") {
  RealMachine real;
  const ProcessTree tree(real.machine, {.processes = 65536, .time = std::chrono::minutes(1)});
  constexpr int kChildren = 12;
  TreeUsage usage;
  const auto scan = [&](std::uint32_t root) {
    const auto found = tree.below({&root, 1});
    REQUIRE(found);
    CHECK(found->complete);
    std::uint64_t ticks = 0;
    for (const TreeUsage::Gain& gain : usage.advance(found->processes, found->now_ticks))
      ticks += gain.user_ticks + gain.system_ticks;
    return ticks;
  };
  CHECK(scan(UINT32_MAX) == 0);  // from here on what is new counts whole

  Pipe report, end;
  const pid_t script = ::fork();
  REQUIRE(script >= 0);
  if (script == 0) run_script(kChildren, report, end);
  std::uint64_t ticks = 0;
  double charged = 0;
  bool reported = false;
  SUBCASE("all the time") {
    while (!reported) {
      ticks += scan(static_cast<std::uint32_t>(script));
      fd_set set;
      FD_ZERO(&set);
      FD_SET(report.ends[0], &set);
      timeval at_once{};
      reported = ::select(report.ends[0] + 1, &set, nullptr, nullptr, &at_once) == 1;
    }
  }
  SUBCASE("once, when all children have ended") {}
  REQUIRE(::read(report.ends[0], &charged, sizeof charged) == sizeof charged);
  ticks += scan(static_cast<std::uint32_t>(script));
  CHECK(usage.known() == 1);

  CHECK(charged > kChildren * 0.039);
  // Each process' time is cut to hundredths of a second.
  CHECK(static_cast<double>(ticks) / 100 == doctest::Approx(charged).epsilon(0.05).scale(1));
  CHECK(::write(end.ends[1], "x", 1) == 1);
  int status = 0;
  CHECK(::waitpid(script, &status, 0) == script);
  CHECK(status == 0);
  CHECK(scan(static_cast<std::uint32_t>(script)) == 0);
  CHECK(usage.known() == 0);
}

// Of a process in a time namespace whose clock since boot is shifted by so many seconds: 0 if its start time is close
// to the time of the search.
int start_in_time_namespace(const char* shift) {
  if (::unshare(CLONE_NEWTIME) != 0) return 77;
  const UniqueFd offsets(::open("/proc/self/timens_offsets", O_WRONLY | O_CLOEXEC));
  const std::string text = std::string("boottime ") + shift + " 0";
  if (::write(offsets.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) return 77;
  return in_child([] {  // only children are in it
    RealMachine real;
    const auto self = static_cast<std::uint32_t>(::getpid());
    const auto found = ProcessTree(real.machine).below({&self, 1});
    if (!found || found->processes.size() != 1) return 1;
    const std::uint64_t start = found->processes[0].start_ticks;
    return start <= found->now_ticks && found->now_ticks - start < 60'000 ? 0 : 2;
  });
}

TEST_CASE("start times and the time of a search are on one clock in every time namespace") {
  for (const char* shift : {"100000", "-100"}) {
    CAPTURE(shift);
    const int answer = in_child([&] { return start_in_time_namespace(shift); });
    if (answer == 77) {
      MESSAGE("skipped: time namespaces cannot be made here");
      return;
    }
    CHECK(answer == 0);
  }
}

TEST_CASE("the tree of this process holds its children, and their bytes may be read") {
  RealMachine real;
  Pipe end;
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    char byte;
    ::_exit(::read(end.ends[0], &byte, 1) == 1 ? 0 : 1);
  }
  const auto own = static_cast<std::uint32_t>(::getpid());
  const auto found = ProcessTree(real.machine).below({&own, 1});
  CHECK(::write(end.ends[1], "x", 1) == 1);
  ::waitpid(child, nullptr, 0);
  REQUIRE(found);
  const auto find = [&](std::uint32_t pid) {
    return std::find_if(found->processes.begin(), found->processes.end(),
                        [&](const TreeProcess& process) { return process.pid == pid; });
  };
  REQUIRE(find(static_cast<std::uint32_t>(child)) != found->processes.end());
  CHECK(find(static_cast<std::uint32_t>(child))->parent == own);
  REQUIRE(find(own) != found->processes.end());
  CHECK(find(own)->read_bytes);
  CHECK(find(own)->resident_bytes > 0);
}

TEST_SUITE_END();
