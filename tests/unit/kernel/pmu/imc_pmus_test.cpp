// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "kernel/pmu/pmu_files.h"
#include "support/machine_tree.h"

using namespace igpu;
using namespace igpu::test;

namespace {

struct Tree {
  MachineTree tree;
  void pmu(const std::string& name, std::vector<std::string> events) {
    tree.write("sys/bus/event_source/devices/" + name + "/type", "40\n");
    for (const auto& event : events) {
      tree.write("sys/bus/event_source/devices/" + name + "/events/" + event, "event=0x01\n");
      tree.write("sys/bus/event_source/devices/" + name + "/events/" + event + ".scale", "6.103515625e-5\n");
    }
  }
  std::vector<ImcPmu> found() const { return imc_pmus(*open_root(tree.path("sys"))); }
};

using Names = std::vector<std::string>;

}  // namespace

TEST_SUITE_BEGIN("imc pmus");

TEST_CASE("a machine without a memory controller PMU") {
  Tree t;
  t.pmu("cpu", {"instructions"});
  CHECK(t.found().empty());
}

TEST_CASE("client processors up to Ice Lake have one") {
  Tree t;
  t.pmu("uncore_imc", {"data_reads", "data_writes", "gt_requests"});
  const auto found = t.found();
  REQUIRE(found.size() == 1);
  CHECK(found[0].name == "uncore_imc");
  CHECK(found[0].reads == Names{"data_reads"});
  CHECK(found[0].writes == Names{"data_writes"});
}

TEST_CASE("later client processors have one per controller, beside programmable ones without named events") {
  Tree t;
  t.pmu("uncore_imc_0", {});
  t.pmu("uncore_imc_1", {});
  t.pmu("uncore_imc_free_running_0", {"data_total", "data_read", "data_write"});
  t.pmu("uncore_imc_free_running_1", {"data_total", "data_read", "data_write"});
  const auto found = t.found();
  REQUIRE(found.size() == 2);
  CHECK(found[1].name == "uncore_imc_free_running_1");
  CHECK(found[1].reads == Names{"data_read"});
}

TEST_CASE("servers have one per channel, some per half channel") {
  Tree t;
  t.pmu("uncore_imc_0", {"cas_count_read", "cas_count_write", "clockticks"});
  t.pmu("uncore_imc_11",
        {"cas_count_read_sch0", "cas_count_read_sch1", "cas_count_write_sch0", "cas_count_write_sch1"});
  const auto found = t.found();
  REQUIRE(found.size() == 2);
  CHECK(found[1].reads == Names{"cas_count_read_sch0", "cas_count_read_sch1"});
}

TEST_CASE("traffic that two PMU families count is taken from one") {
  Tree t;
  t.pmu("uncore_imc_0", {"cas_count_read", "cas_count_write"});
  t.pmu("uncore_imc_free_running_0", {"data_read", "data_write"});
  const auto found = t.found();
  REQUIRE(found.size() == 1);
  CHECK(found[0].name == "uncore_imc_free_running_0");
}
