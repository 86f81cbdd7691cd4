// SPDX-License-Identifier: Apache-2.0
// Sampling by a descriptor in the program's own event loop.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "igpu/sampling.h"
#include "igpu/unique_fd.h"
#include "support/simulated_gpu.h"

using namespace igpu;
using namespace igpu::test;
using namespace std::chrono_literals;

namespace {

std::ptrdiff_t entries(const char* folder) {
  const std::filesystem::directory_iterator files(folder);
  return std::distance(begin(files), end(files));
}

bool readable(int descriptor, int timeout_ms) {
  pollfd file{descriptor, POLLIN, 0};
  return ::poll(&file, 1, timeout_ms) == 1 && (file.revents & POLLIN) != 0;
}

}  // namespace

TEST_SUITE_BEGIN("sample timer");

TEST_CASE("the descriptor becomes readable when a reading is due, and read() clears it") {
  SampleTimer timer(simulated(), 20ms);
  for (int i = 0; i < 3; ++i) {
    REQUIRE(readable(timer.descriptor(), 60'000));
    const auto snapshot = timer.read();
    REQUIRE(snapshot);
    CHECK(snapshot->busy(EngineClass::render));
  }
}

TEST_CASE("without a reading that is due, read() returns nothing and does not wait") {
  SampleTimer timer(simulated(), 1h);
  CHECK_FALSE(readable(timer.descriptor(), 0));
  CHECK_FALSE(timer.read());
  CHECK_FALSE(timer.dispatch());
}

TEST_CASE("several timers in one epoll, without a thread") {
  const auto threads = entries("/proc/self/task");
  std::vector<SampleTimer> timers;
  for (int i = 0; i < 3; ++i) timers.emplace_back(simulated(), 5ms * (i + 1));
  const UniqueFd epoll(::epoll_create1(EPOLL_CLOEXEC));
  for (std::size_t i = 0; i < timers.size(); ++i) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = i;
    REQUIRE(::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, timers[i].descriptor(), &event) == 0);
  }
  std::vector<int> readings(timers.size(), 0);
  while (*std::min_element(readings.begin(), readings.end()) < 3) {
    epoll_event event{};
    REQUIRE(::epoll_wait(epoll.get(), &event, 1, 60'000) == 1);
    if (timers[event.data.u64].read()) ++readings[event.data.u64];
  }
  CHECK(entries("/proc/self/task") == threads);
}

TEST_CASE("readings that the program missed are counted") {
  SampleTimer timer(simulated(), 1ms);
  std::this_thread::sleep_for(20ms);
  REQUIRE(timer.read());
  CHECK(timer.missed() >= 10);
}

TEST_CASE("a hundred timers leave no descriptor, and none of theirs is inherited by a program") {
  const auto use = [] {
    SampleTimer timer(simulated(), 1ms);
    CHECK((::fcntl(timer.descriptor(), F_GETFD) & FD_CLOEXEC) != 0);
    SampleTimer moved(std::move(timer));
    REQUIRE(readable(moved.descriptor(), 60'000));
    CHECK(moved.read());
  };
  use();
  const auto before = entries("/proc/self/fd");
  for (int i = 0; i < 100; ++i) use();
  CHECK(entries("/proc/self/fd") == before);
}

TEST_CASE("a fork in the middle: the parent loses no reading to the child") {
  SampleTimer timer(simulated(), 5ms);
  REQUIRE(readable(timer.descriptor(), 60'000));
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    bool refused = false;
    try {
      (void)timer.read();
    } catch (const SamplingEnded&) {
      refused = true;
    }
    SampleTimer own(simulated(), 1ms);
    const bool good = refused && readable(own.descriptor(), 60'000) && own.read();
    ::_exit(good ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(timer.read());  // due since before the fork
}

TEST_SUITE_END();
