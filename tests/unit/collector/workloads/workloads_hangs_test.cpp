// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <vector>

#include "collector/workloads/workloads_jobs.h"

using namespace igpu;

namespace {

const std::vector<ProcessHang> kOneHang{{"0000:03:00.0", "job_timeout", 7}};

}  // namespace

TEST_SUITE_BEGIN("hangs of workloads");

TEST_CASE("a hang belongs to the workload of its process, also when it ended since the last scan") {
  WorkloadHangs hangs;
  hangs.begin_scan();
  hangs.found(7, "encoder");
  hangs.count(kOneHang);
  hangs.begin_scan();  // it ended
  hangs.count(kOneHang);
  CHECK(hangs.series().at({"0000:03:00.0", "encoder", "job_timeout"}) == 2);
  hangs.begin_scan();
  hangs.count(kOneHang);
  CHECK(hangs.series().at({"0000:03:00.0", "unattributed", "job_timeout"}) == 1);
}

TEST_CASE("a workload that loses its series takes its hangs to the others") {
  WorkloadHangs hangs;
  hangs.begin_scan();
  hangs.found(7, "encoder");
  hangs.count(kOneHang);
  hangs.fold({"encoder"});
  hangs.count(kOneHang);
  hangs.fold({"encoder"});
  CHECK(hangs.series().size() == 1);
  CHECK(hangs.series().at({"0000:03:00.0", "other", "job_timeout"}) == 2);
}

TEST_SUITE_END();
