// SPDX-License-Identifier: Apache-2.0
// Perf events that another process opens (here: another thread), with the real perf_event_open(2).
#include <doctest/doctest.h>
#include <linux/perf_event.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <functional>
#include <thread>
#include <vector>

#include "igpu/unique_fd.h"
#include "machine/perf_events.h"

using namespace igpu;

namespace {

constexpr PerfEventConfig kCpuClock{PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK};
constexpr PerfEventConfig kContextSwitches{PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES};

bool software_only(const PerfEventConfig& event) { return event.type == PERF_TYPE_SOFTWARE; }

std::size_t open_events() {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    if (std::filesystem::read_symlink(entry.path(), gone) == "anon_inode:[perf_event]") ++count;
  }
  return count;
}

class Opener {
 public:
  explicit Opener(const std::function<bool(const PerfEventConfig&)>& may_open = software_only) {
    std::array<int, 2> ends{-1, -1};
    REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) == 0);
    own_ = UniqueFd(ends[0]);
    other_ = UniqueFd(ends[1]);
    server_ = std::thread([this, may_open] {
      serve_perf_events(other_.get(), may_open);
      other_.reset();
    });
    events = remote_perf_events(own_.get());
  }
  ~Opener() {
    if (server_.joinable()) end();
  }
  void end() {
    ::shutdown(own_.get(), SHUT_RDWR);
    server_.join();
  }
  // All requests before were handled.
  void settle() { CHECK_FALSE(events->open({PERF_TYPE_TRACEPOINT, 0}, 0, nullptr)); }

  std::unique_ptr<PerfEvents> events;

 private:
  UniqueFd own_, other_;
  std::thread server_;
};

}  // namespace

TEST_SUITE_BEGIN("perf opener");

TEST_CASE("a group that another process opened counts here, and is closed when it is closed here") {
  Opener opener;
  const std::size_t before = open_events();
  auto leader = opener.events->open(kCpuClock, 0, nullptr);
  if (leader.is_absent() && leader.absent().reason == Reason::permission) {
    MESSAGE("not checked: this user may have no perf event here");
    return;
  }
  REQUIRE(leader);
  auto sibling = opener.events->open(kContextSwitches, 0, leader->get());
  REQUIRE(sibling);
  std::array<std::uint64_t, 8> words{};
  const auto first = (*leader)->read(words);
  REQUIRE(first);
  CHECK(first->size() == 5);
  CHECK(first->front() == 2);
  const std::uint64_t then = words[3];
  REQUIRE((*leader)->read(words));
  CHECK(words[3] > then);

  sibling = Absent{};
  leader = Absent{};
  opener.settle();
  CHECK(open_events() == before);
}

TEST_CASE("groups of several PMUs do not mix") {
  Opener opener;
  auto one = opener.events->open(kCpuClock, 0, nullptr);
  if (!one) return;
  auto two = opener.events->open(kCpuClock, 0, nullptr);
  REQUIRE(two);
  auto of_one = opener.events->open(kContextSwitches, 0, one->get());
  REQUIRE(of_one);
  std::array<std::uint64_t, 8> words{};
  REQUIRE((*one)->read(words));
  CHECK(words[0] == 2);
  REQUIRE((*two)->read(words));
  CHECK(words[0] == 1);
}

TEST_CASE("what may not be opened is absent for lack of permission, and what the kernel lacks for its reason") {
  Opener opener;
  const auto denied = opener.events->open({PERF_TYPE_TRACEPOINT, 1}, 0, nullptr);
  REQUIRE(denied.is_absent());
  CHECK(denied.absent() == Absent{Reason::permission, EPERM});
  const auto anywhere = opener.events->open(kCpuClock, -1, nullptr);
  REQUIRE(anywhere.is_absent());
  const auto unknown = opener.events->open({PERF_TYPE_SOFTWARE, 0xffff}, 0, nullptr);
  CHECK(unknown.is_absent());
}

TEST_CASE("many groups one after the other leave nothing open") {
  Opener opener;
  if (!opener.events->open(kCpuClock, 0, nullptr)) return;
  for (int i = 0; i < 1000; ++i) REQUIRE(opener.events->open(kCpuClock, 0, nullptr));
}

TEST_CASE("threads that open at the same time get their own events") {
  Opener opener;
  if (!opener.events->open(kCpuClock, 0, nullptr)) return;
  std::array<int, 4> opened{};
  std::vector<std::thread> threads;
  for (int& count : opened) {
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) {
        auto leader = opener.events->open(kCpuClock, 0, nullptr);
        if (leader && opener.events->open(kContextSwitches, 0, leader->get())) ++count;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const int count : opened) CHECK(count == 100);
}

TEST_CASE("after the other process has ended, opening fails and reports that; open events go on") {
  Opener opener;
  auto leader = opener.events->open(kCpuClock, 0, nullptr);
  opener.end();
  const auto late = opener.events->open(kCpuClock, 0, nullptr);
  REQUIRE(late.is_failure());
  CHECK(late.failure().where.find("restart") != std::string::npos);
  std::array<std::uint64_t, 8> words{};
  if (leader) CHECK((*leader)->read(words));
}

TEST_CASE("a process that sends something else is not served any more") {
  std::array<int, 2> ends{-1, -1};
  REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) == 0);
  const UniqueFd own(ends[0]), other(ends[1]);
  REQUIRE(::send(own.get(), "x", 1, 0) == 1);
  serve_perf_events(other.get(), software_only);
}

TEST_SUITE_END();
