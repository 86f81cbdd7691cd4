// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <string>
#include <system_error>

#include "igpu/unique_fd.h"
#include "view/stats/stats_writer.h"

using namespace igpu::exporter;
using igpu::UniqueFd;
using namespace std::chrono_literals;

namespace {

struct Pipe {
  Pipe() {
    std::array<int, 2> ends{};
    REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
    read = UniqueFd(ends[0]);
    write = UniqueFd(ends[1]);
  }
  UniqueFd read, write;
};

// More than a pipe holds.
const std::string kMuch(1 << 20, 'x');

}  // namespace

TEST_SUITE_BEGIN("stats_output");

TEST_CASE("a reader that does not read is waited for, but not for ever") {
  sigset_t before;
  REQUIRE(::pthread_sigmask(SIG_BLOCK, nullptr, &before) == 0);
  const Pipe pipe;
  StatsOutput output({.descriptor = pipe.write.get(), .longest_wait = 50ms});
  CHECK(output.write("a record\n") == StatsOutput::Outcome::goes_on);
  try {
    (void)output.write(kMuch);
    FAIL("it ended");
  } catch (const std::system_error& error) {
    CHECK(error.code().value() == ETIMEDOUT);
  }
  // An interrupt ends the wait.
  StatsOutput patient({.descriptor = pipe.write.get(), .longest_wait = 1h});
  REQUIRE(::raise(SIGINT) == 0);
  CHECK(patient.write(kMuch) == StatsOutput::Outcome::interrupted);
  CHECK(patient.wait_until(std::chrono::steady_clock::now() + 1h) == StatsOutput::Outcome::interrupted);
  sigset_t interrupt;
  ::sigemptyset(&interrupt);
  ::sigaddset(&interrupt, SIGINT);
  const timespec at_once{};
  CHECK(::sigtimedwait(&interrupt, nullptr, &at_once) == SIGINT);  // it stayed pending; gone before it is unblocked
  REQUIRE(::pthread_sigmask(SIG_SETMASK, &before, nullptr) == 0);
}

TEST_CASE("a reader that leaves ends the stream, also between two records") {
  Pipe pipe;
  StatsOutput output({.descriptor = pipe.write.get(), .longest_wait = 1h});
  pipe.read = UniqueFd();
  CHECK(output.wait_until(std::chrono::steady_clock::now() + 1h) == StatsOutput::Outcome::reader_gone);
  CHECK(output.write("a record\n") == StatsOutput::Outcome::reader_gone);
}

TEST_SUITE_END();
