// SPDX-License-Identifier: Apache-2.0
// What views with drawings of their own show of a GPU besides them: a field that is new needs no change in any view.
#include "view/report/gpu_summary.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace igpu;
using namespace igpu::exporter;

TEST_SUITE_BEGIN("gpu_summary");

TEST_CASE(
    "what is drawn is left out, whether it is a section or a row; all else stays, also in a section that is drawn") {
  const std::vector<SummarySection> rest =
      undrawn({{"engines", {{"gt0 rcs0 render", "  36.8 %"}}},
               {"frequency",
                {{"gt0 actual", "  1300 MHz", "frequency.actual"}, {"gt0 wished", "  1400 MHz", "frequency.wished"}}},
               {"fan", {{"1", "   900 rpm", "fan.speed"}}},
               {"leak", {{"hose", "     1 l", "leak.value"}}}});
  std::string shown;
  for (const SummarySection& section : rest)
    for (const SummaryRow& row : section.rows) shown += std::string(section.title) + ": " + row.name + '\n';
  CHECK(shown == "frequency: gt0 wished\nleak: hose\n");
}

TEST_CASE("what a GPU has once is a value without labels, also where only a page has it") {
  GpuModel gpu;
  gpu.suspended = false;
  const auto once = [&](const char* name) { return values_of(gpu, *gpu_field(name)); };
  for (const char* const name : {"gpu.functions_total", "gpu.suspended"}) {
    REQUIRE_MESSAGE(once(name)->size() == 1, name);
    CHECK_MESSAGE(once(name)->front().labels.empty(), name);
  }
  CHECK_FALSE(once("gpu.functions_total")->front().value);
  CHECK(*once("gpu.suspended")->front().value == 0);
}

TEST_SUITE_END();
