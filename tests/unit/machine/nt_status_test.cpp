// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "machine/windows_status.h"

TEST_SUITE_BEGIN("nt_status");

using namespace igpu;

namespace {

Reading<int> outcome(std::uint32_t status) {
  return outcome_of_status<int>(static_cast<NtStatus>(status), "D3DKMTQueryStatistics(node)");
}

}  // namespace

TEST_CASE("what a driver does not offer is absent") {
  for (const std::uint32_t status : {0xc00000bbu, 0xc0000002u, 0xc0000003u, 0xc000000du}) {
    CAPTURE(status);
    CHECK(outcome(status).is_absent());
    CHECK(outcome(status).absent() == Absent{Reason::kernel, EOPNOTSUPP});
  }
}

TEST_CASE("what is denied is absent by permission") {
  CHECK(outcome(0xc0000022).absent() == Absent{Reason::permission, EACCES});
}

TEST_CASE("what an adapter that has gone says is absent") {
  for (const std::uint32_t status : {0xc0000008u, 0xc000000eu, 0xc00000c0u, 0xc00002b6u})
    CHECK(outcome(status).absent() == Absent{Reason::kernel, ENODEV});
}

TEST_CASE("anything else is a failure that names the call and the status") {
  const auto failed = outcome(0xc0000001);
  REQUIRE(failed.is_failure());
  CHECK(failed.failure().where == "D3DKMTQueryStatistics(node): status 0xc0000001");
}

TEST_SUITE_END();
