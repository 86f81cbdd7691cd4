// SPDX-License-Identifier: Apache-2.0
// The real perf_event_open(2): a tree that describes a PMU whose type is that of the kernel's software events.
#include "kernel/pmu/pmu_session.h"

#include <doctest/doctest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "machine/machine.h"
#include "support/machine_tree.h"

using namespace igpu;
using namespace igpu::test;
using namespace std::chrono_literals;

namespace {

// PERF_TYPE_SOFTWARE, and its events cpu-clock and context-switches.
constexpr const char* kSoftware = "1\n";

class SoftwarePmu {
 public:
  SoftwarePmu()
      : sys_(open_root(make_tree())),
        perf_(system_perf_events()),
        clock_(system_clock()),
        drm_(system_drm_nodes("/dev")),
        privileges_(system_privileges()),
        names_(system_names()) {}

  MachineTree tree;
  CounterMemory memory;

  PmuSession session() { return PmuSession(machine_, memory, "soft"); }
  void write(const std::string& path, std::string_view text) {
    tree.write("sys/bus/event_source/devices/soft/" + path, text);
  }
  const Privileges& privileges() const { return *privileges_; }

 private:
  std::string make_tree() {
    write("type", kSoftware);
    write("cpumask", "0\n");
    write("format/event", "config:0-63\n");
    write("events/cpu-clock", "event=0x0\n");
    write("events/cpu-clock.unit", "ns\n");
    write("events/switches", "config=0x3\n");
    write("events/unknown", "event=0x7777\n");
    return tree.path("sys");
  }

  std::unique_ptr<Directory> sys_;
  std::unique_ptr<PerfEvents> perf_;
  std::unique_ptr<Clock> clock_;
  std::unique_ptr<DrmNodes> drm_;
  std::unique_ptr<Privileges> privileges_;
  std::unique_ptr<Names> names_;
  Machine machine_{*sys_, *sys_, *sys_, *perf_, *drm_, *clock_, *privileges_, *names_};
};

int paranoid() {
  std::ifstream file("/proc/sys/kernel/perf_event_paranoid");
  int level = 99;
  file >> level;
  return level;
}

// Whether the kernel's rules let this process count on a whole CPU. Debian knows a level 3 that CAP_PERFMON does not
// pass, Ubuntu a level 4.
bool may_count(const Privileges& privileges) {
  if (paranoid() <= 0 || privileges.has_capability(Privileges::kCapSysAdmin)) return true;
  return paranoid() <= 2 && privileges.has_capability(Privileges::kCapPerfmon);
}

std::size_t open_files() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
  return count;
}

std::string text_of(const Reading<Unit>& outcome) {
  if (outcome) return "counts";
  if (outcome.is_absent())
    return std::string(to_string(outcome.absent().reason)) + " " + std::to_string(outcome.absent().os_error);
  return "failure " + std::to_string(outcome.failure().code.value());
}

// The function's result in a separate process, which may drop its privileges.
std::string in_child(const std::function<std::string()>& function) {
  std::array<int, 2> pipe_ends;
  REQUIRE(pipe(pipe_ends.data()) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const std::string text = function();
    const ssize_t written = ::write(pipe_ends[1], text.data(), text.size());
    _exit(written == static_cast<ssize_t>(text.size()) ? 0 : 1);
  }
  close(pipe_ends[1]);
  std::string text;
  std::array<char, 256> buffer;
  for (ssize_t count; (count = ::read(pipe_ends[0], buffer.data(), buffer.size())) > 0;)
    text.append(buffer.data(), static_cast<std::size_t>(count));
  close(pipe_ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(status == 0);
  return text;
}

bool give_up_root() {
  return getuid() != 0 || (setresgid(65534, 65534, 65534) == 0 && setresuid(65534, 65534, 65534) == 0);
}

}  // namespace

TEST_SUITE_BEGIN("perf events of the kernel");

TEST_CASE("a group is opened, read as one, and advances with the clock") {
  SoftwarePmu soft;
  PmuSession pmu = soft.session();
  const auto clock = pmu.want("cpu-clock");
  const auto switches = pmu.want("switches");
  const auto before = std::chrono::steady_clock::now();
  const auto first = pmu.refresh(1);
  if (!may_count(soft.privileges())) {
    CHECK(text_of(first) == "permission " + std::to_string(EACCES));
    return;
  }
  REQUIRE(first);
  const std::uint64_t count = *pmu.count(clock);
  const Nanoseconds time = pmu.time();
  std::this_thread::sleep_for(100ms);
  REQUIRE(pmu.refresh(2));
  const auto elapsed = std::chrono::steady_clock::now() - before;
  const auto gained = Nanoseconds(static_cast<Nanoseconds::rep>(*pmu.count(clock) - count));
  // Not 100 ms: perf's clock is not the one that the sleep goes by. Where the kernel corrects it at each tick, the two
  // may be a tick apart: at most 10 ms.
  CHECK(gained >= 90ms);
  CHECK(gained <= elapsed + 10ms);
  CHECK(pmu.time() - time >= 90ms);
  CHECK(pmu.time() - time <= elapsed + 10ms);
  CHECK(pmu.count(switches));
  CHECK(*pmu.raw(clock) == *pmu.count(clock));
}

TEST_CASE("an event that the kernel does not know is dropped, also as the first one") {
  SoftwarePmu soft;
  PmuSession pmu = soft.session();
  const auto unknown = pmu.want("unknown");
  const auto clock = pmu.want("cpu-clock");
  const auto outcome = pmu.refresh(1);
  if (!may_count(soft.privileges())) {
    CHECK(outcome.is_absent());
    return;
  }
  REQUIRE(outcome);
  std::this_thread::sleep_for(2ms);
  REQUIRE(pmu.refresh(2));
  CHECK(*pmu.count(clock) > 1'000'000);
  REQUIRE(pmu.count(unknown).is_absent());
  CHECK(pmu.count(unknown).absent() == Absent{Reason::kernel, ENOENT});
}

TEST_CASE("an unknown PMU type is an absence") {
  SoftwarePmu soft;
  soft.write("type", "54321\n");
  PmuSession pmu = soft.session();
  (void)pmu.want("cpu-clock");
  const auto outcome = pmu.refresh(1);
  CHECK(text_of(outcome) ==
        (may_count(soft.privileges()) ? "kernel " + std::to_string(ENOENT) : "permission " + std::to_string(EACCES)));
}

TEST_CASE("a CPU that does not exist is an absence") {
  SoftwarePmu soft;
  soft.write("cpumask", "60000\n");
  PmuSession pmu = soft.session();
  (void)pmu.want("cpu-clock");
  const auto outcome = pmu.refresh(1);
  REQUIRE(outcome.is_absent());
  if (may_count(soft.privileges())) CHECK(outcome.absent().reason == Reason::kernel);
}

TEST_CASE("after close and reopen the count continues; no descriptor leaks") {
  SoftwarePmu soft;
  if (!may_count(soft.privileges())) {
    PmuSession pmu = soft.session();
    (void)pmu.want("cpu-clock");
    CHECK(text_of(pmu.refresh(1)) == "permission " + std::to_string(EACCES));
    return;
  }
  const std::size_t files = open_files();
  {
    PmuSession pmu = soft.session();
    const auto clock = pmu.want("cpu-clock");
    (void)pmu.want("switches");
    std::uint64_t last = 0;
    for (std::uint64_t pass = 1; pass <= 500; ++pass) {
      REQUIRE(pmu.refresh(pass));
      CHECK(*pmu.count(clock) >= last);
      last = *pmu.count(clock);
      if (pass % 2 == 0) pmu.close();
    }
    CHECK(last > 0);
    CHECK(pmu.generation() == 250);
    CHECK(open_files() == files + 1);  // the type file
    REQUIRE(pmu.refresh(501));
    CHECK(open_files() == files + 3);
    // The PMU comes back as one that the kernel does not have.
    soft.write("type", "54321\n");
    CHECK(pmu.refresh(502).is_absent());
    CHECK(open_files() == files + 1);
    soft.write("type", kSoftware);
    REQUIRE(pmu.refresh(503));
    CHECK(*pmu.count(clock) >= last);
  }
  CHECK(open_files() == files);
}

TEST_CASE("an unprivileged process gets EACCES, or access, exactly as perf_event_paranoid says") {
  SoftwarePmu soft;
  const std::string outcome = in_child([&] {
    if (!give_up_root()) return std::string("cannot give up root");
    PmuSession pmu = soft.session();
    const auto clock = pmu.want("cpu-clock");
    const auto first = pmu.refresh(1);
    if (first && !pmu.count(clock)) return std::string("no count");
    return text_of(first);
  });
  CHECK(outcome == (paranoid() <= 0 ? "counts" : "permission " + std::to_string(EACCES)));
}

TEST_CASE(
    "a seccomp profile that forbids the call is a matter of permission, also where it pretends that there is no such "
    "call") {
  SoftwarePmu soft;
  for (const std::uint32_t error : {std::uint32_t{EPERM}, std::uint32_t{ENOSYS}}) {
    const std::string outcome = in_child([&] {
      std::array<sock_filter, 4> code{{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                                       BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
                                       BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
                                       BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)}};
      sock_fprog program{code.size(), code.data()};
      if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        return std::string("no seccomp");
      PmuSession pmu = soft.session();
      (void)pmu.want("cpu-clock");
      return text_of(pmu.refresh(1));
    });
    CHECK(outcome == "permission " + std::to_string(error));
  }
}

TEST_CASE("running out of file descriptors is a failure, and counting starts as soon as there are some") {
  SoftwarePmu soft;
  if (!may_count(soft.privileges())) {
    PmuSession pmu = soft.session();
    (void)pmu.want("cpu-clock");
    CHECK(text_of(pmu.refresh(1)) == "permission " + std::to_string(EACCES));
    return;
  }
  const std::string outcome = in_child([&] {
    PmuSession pmu = soft.session();
    (void)pmu.want("cpu-clock");
    (void)pmu.want("switches");
    if (!pmu.refresh(1)) return std::string("does not count");
    pmu.close();
    const std::size_t files = open_files();
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    const rlim_t soft_limit = limit.rlim_cur;
    limit.rlim_cur = 1;  // of one that is taken already
    setrlimit(RLIMIT_NOFILE, &limit);
    const std::string refused = text_of(pmu.refresh(2));
    limit.rlim_cur = soft_limit;
    setrlimit(RLIMIT_NOFILE, &limit);
    const bool nothing_left = open_files() == files;
    return refused + (nothing_left ? ", " : ", files left, ") + text_of(pmu.refresh(3));
  });
  CHECK(outcome == "failure " + std::to_string(EMFILE) + ", counts");
}
