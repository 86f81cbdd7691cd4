// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cerrno>
#include <new>
#include <stdexcept>
#include <system_error>

#include "cli/output.h"

using namespace igpu::exporter;

TEST_SUITE_BEGIN("start_failure");

TEST_CASE("an error unrelated to memory and threads is printed as it is") {
  CHECK(explained(std::runtime_error("cannot listen on :1"), {1, 1}) == "cannot listen on :1");
  CHECK(explained(std::system_error(EMFILE, std::generic_category(), "eventfd"), {}).find("limit") ==
        std::string::npos);
}

TEST_CASE("exhausted memory and threads are reported with the limit and a hint") {
  const ProcessLimits low{300000 * 1024ULL, 8192 * 1024ULL};
  const std::string thread = explained(std::system_error(EAGAIN, std::generic_category()), low);
  CHECK(thread ==
        "a thread cannot be started: Resource temporarily unavailable; address space is limited to 300000 KiB (ulimit "
        "-v, "
        "LimitAS=), of which each thread's stack takes 8192 KiB: raise that limit");
  CHECK(explained(std::bad_alloc(), low).find("not enough memory; address space is limited to 300000 KiB") == 0);
  CHECK(explained(std::bad_alloc(), {}).find("MemoryMax=") != std::string::npos);
  CHECK(
      explained(std::system_error(ENOMEM, std::generic_category(), "the HTTP server"), {}).find("the HTTP server: ") ==
      0);
}

TEST_SUITE_END();
