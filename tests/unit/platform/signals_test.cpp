// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <csignal>

#include "platform/thread.h"

using namespace igpu::exporter;
using namespace std::chrono_literals;

TEST_SUITE_BEGIN("signals");

TEST_CASE("waiting for a signal works with and without a timeout") {
  sigset_t before;
  REQUIRE(::pthread_sigmask(SIG_BLOCK, nullptr, &before) == 0);
  TerminationSignals signals;
  CHECK_FALSE(signals.wait(0ms));
  CHECK_FALSE(signals.wait(20ms));
  REQUIRE(::raise(SIGTERM) == 0);
  CHECK(signals.wait(20s) == SIGTERM);
  REQUIRE(::raise(SIGINT) == 0);
  CHECK(signals.wait() == SIGINT);
  CHECK_FALSE(signals.wait(0ms));
  REQUIRE(::pthread_sigmask(SIG_SETMASK, &before, nullptr) == 0);
}

TEST_SUITE_END();
