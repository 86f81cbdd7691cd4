// SPDX-License-Identifier: Apache-2.0
// The walk over /proc and the facts of processes on the kernel that runs the tests.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <grp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "igpu/unique_fd.h"
#include "kernel/clients/client_walk.h"
#include "kernel/clients/fdinfo_text.h"
#include "kernel/clients/process.h"
#include "kernel/short_process.h"
#include "support/child_process.h"
#include "support/proc_tree.h"
#include "support/real_machine.h"

using namespace igpu;
using namespace igpu::test;
using namespace std::chrono_literals;

namespace {

constexpr uid_t kNobody = 65534;

void become_nobody() {
  if (::geteuid() != 0) return;
  if (::setgroups(0, nullptr) != 0 || ::setgid(kNobody) != 0 || ::setuid(kNobody) != 0) ::_exit(99);
}

// A child that waits for its end.
class Child final : public ChildProcess {
 public:
  explicit Child(const std::function<void()>& prepare = {}) {
    std::array<int, 2> ready{};
    REQUIRE(::pipe2(ready.data(), O_CLOEXEC) == 0);
    const UniqueFd reader(ready[0]);
    UniqueFd writer(ready[1]);
    pid_ = ::fork();
    REQUIRE(pid_ >= 0);
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (prepare) prepare();
      (void)!::write(writer.get(), "r", 1);
      for (;;) ::pause();
    }
    writer.reset();
    char byte;
    REQUIRE(::read(reader.get(), &byte, 1) == 1);
  }
};

std::size_t open_files() {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}));
}

}  // namespace

TEST_SUITE_BEGIN("kernel: walking /proc");

TEST_CASE("every process of this machine is listed, except the exporter's own") {
  RealMachine real;
  const Child child;
  ClientWalk walk(real.machine, {});
  const auto snapshot = walk.find({});
  REQUIRE(snapshot);
  CHECK(snapshot->complete);
  for (const std::uint32_t pid : {1u, child.pid(), static_cast<std::uint32_t>(::getpid())})
    CHECK(std::binary_search(snapshot->pids.begin(), snapshot->pids.end(), pid));
  CHECK(snapshot->processes_seen >= 2);
  CHECK(snapshot->duration > 0ns);
  for (const ClientProcess& process : snapshot->processes) CHECK(process.pid != static_cast<std::uint32_t>(::getpid()));
}

TEST_CASE("an unprivileged process is denied others' fdinfo, counts that, and goes on") {
  const Child privileged;  // of the tests' own user
  const int answer = in_child([] {
    become_nobody();
    RealMachine real;
    ClientWalk walk(real.machine, {});
    const auto snapshot = walk.find({});
    if (!snapshot) return 1;
    if (snapshot->processes_denied == 0) return 2;
    if (snapshot->processes_denied > snapshot->processes_seen) return 3;
    return snapshot->complete ? 0 : 4;
  });
  CHECK(answer == 0);
}

TEST_CASE("a process whose fdinfo cannot be read costs only itself") {
  ProcTree tree;
  tree.add_process(7);
  tree.add_file(7, 3, i915_block("0000:00:02.0", 1));
  tree.add_process(8);
  tree.add_file(8, 3, i915_block("0000:00:02.0", 2));
  tree.add_process(9);
  tree.add_file(9, 3, i915_block("0000:00:02.0", 3));
  tree.tree.set_mode("", 0755);
  tree.tree.set_mode("proc/8/fdinfo", 0);
  tree.tree.set_mode("proc/9/fdinfo/3", 0);
  const int answer = in_child([&] {
    become_nobody();
    ClientWalk walk(tree.machine(), {});
    const auto snapshot = walk.find({});
    if (!snapshot || snapshot->clients.size() != 1 || snapshot->clients[0].pid != 7) return 1;
    return snapshot->processes_denied == 2 ? 0 : 2;
  });
  tree.tree.set_mode("proc/8/fdinfo", 0755);
  CHECK(answer == 0);
}

TEST_CASE("process facts are parsed: a name with parentheses and invalid bytes, user, CPU time, memory") {
  RealMachine real;
  const Child child([] {
    ::prctl(PR_SET_NAME, ") S 1 (\xff\n\xc3", 0, 0, 0);
    become_nobody();
    volatile unsigned spin = 0;
    const auto cpu = [] {
      timespec t{};
      ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
      return std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec);
    };
    while (cpu() < 60ms) spin = spin + 1;
  });
  UserNames users(*real.names);
  const auto directory = real.proc->open_directory(std::to_string(child.pid()));
  REQUIRE(directory);
  const auto process = read_process(**directory, child.pid(), users, 0s, kUsualPageSize);
  REQUIRE(process);
  CHECK(process->comm == ") S 1 (\xff\n\xc3");
  REQUIRE(process->cpu);
  CHECK(process->cpu->value >= 0.04);
  CHECK(process->cpu->value < 30);
  CHECK(process->resident->value > 100e3);
  CHECK(process->virtual_size->value >= process->resident->value);
  CHECK(process->cgroup.starts_with("/"));
  if (::geteuid() == 0) CHECK((process->user == "nobody" || process->user == "65534"));
}

TEST_CASE("start times identify processes; an open directory never shows a successor") {
  RealMachine real;
  UserNames users(*real.names);
  auto child = std::make_unique<Child>();
  const std::uint32_t pid = child->pid();
  const auto directory = real.proc->open_directory(std::to_string(pid));
  REQUIRE(directory);
  const auto first = read_process(**directory, pid, users, 0s, kUsualPageSize);
  const auto second = read_process(**directory, pid, users, 0s, kUsualPageSize);
  REQUIRE(first);
  REQUIRE(second);
  CHECK(first->start_time_ticks == second->start_time_ticks);
  const auto self = real.proc->open_directory(std::to_string(::getpid()));
  CHECK(read_process(**self, 0, users, 0s, kUsualPageSize)->start_time_ticks < first->start_time_ticks + 1);

  child->end();
  CHECK(read_process(**directory, pid, users, 0s, kUsualPageSize).is_absent());
  CHECK((*directory)->for_each("fdinfo", [](std::string_view) { return true; }).is_absent());
}

TEST_CASE("no other type of file is taken for a DRM client") {
  std::array<int, 2> pair{};
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) == 0);
  std::vector<UniqueFd> files;
  files.emplace_back(pair[0]);
  files.emplace_back(pair[1]);
  files.emplace_back(::eventfd(5, EFD_CLOEXEC));
  files.emplace_back(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC));
  files.emplace_back(::epoll_create1(EPOLL_CLOEXEC));
  files.emplace_back(::inotify_init1(IN_CLOEXEC));
  files.emplace_back(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  files.emplace_back(::open("/proc/self/stat", O_RDONLY | O_CLOEXEC));
  epoll_event event{};
  REQUIRE(::epoll_ctl(files[4].get(), EPOLL_CTL_ADD, files[2].get(), &event) == 0);
  REQUIRE(::inotify_add_watch(files[5].get(), "/", IN_CREATE) >= 0);
  RealMachine real;
  for (const UniqueFd& file : files) {
    std::array<char, 4096> buffer;
    const auto text = real.proc->read_start("self/fdinfo/" + std::to_string(file.get()), buffer);
    REQUIRE(text);
    CHECK(text->starts_with("pos:"));
    FdinfoBlock block;
    CHECK_FALSE(parse_fdinfo(*text, block));
  }
}

TEST_CASE(
    "a process with thousands of open files is walked within the bound; a tight bound ends the walk and resumes it") {
  const Child child([] {
    for (int i = 0; i < 900; ++i) (void)::dup(0);
  });
  RealMachine real;
  ClientWalk whole(real.machine, {});
  CHECK(whole.find({})->complete);

  ClientWalk tight(real.machine, {.time = 200us});
  bool incomplete = false;
  for (int i = 0; i < 5; ++i) {
    const auto snapshot = tight.find({});
    REQUIRE(snapshot);
    incomplete = incomplete || !snapshot->complete;
    CHECK(snapshot->duration < 10s);
  }
  CHECK(incomplete);
}

TEST_CASE("processes that come and go meanwhile are normal") {
  const ShortProcess churn({"churn"});
  RealMachine real;
  ClientWalk walk(real.machine, {});
  int walks = 0;
  bool came = false, went = false;
  std::vector<std::uint32_t> before;
  for (const auto end = std::chrono::steady_clock::now() + 60s;
       (walks < 50 || !came || !went) && std::chrono::steady_clock::now() < end; ++walks) {
    const auto snapshot = walk.find({});
    REQUIRE(snapshot);
    CHECK(std::binary_search(snapshot->pids.begin(), snapshot->pids.end(), churn.pid()));
    if (walks > 0) {
      came = came || !std::includes(before.begin(), before.end(), snapshot->pids.begin(), snapshot->pids.end());
      went = went || !std::includes(snapshot->pids.begin(), snapshot->pids.end(), before.begin(), before.end());
    }
    before = snapshot->pids;
  }
  CHECK(walks > 1);
  CHECK(came);
  CHECK(went);
}

TEST_CASE("a hundred walks leave no file open") {
  RealMachine real;
  ClientWalk walk(real.machine, {});
  (void)walk.find({});
  const std::size_t before = open_files();
  for (int i = 0; i < 100; ++i) (void)walk.find({});
  CHECK(open_files() == before);
}

TEST_SUITE_END();
