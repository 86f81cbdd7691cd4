// SPDX-License-Identifier: Apache-2.0
// CSV from pages that are written here; the end-to-end test reads whole machines.
#include <doctest/doctest.h>

#include <chrono>
#include <string>

#include "support/sample_page.h"
#include "view/format/csv_rows.h"

TEST_SUITE_BEGIN("stats_formats");

using namespace igpu;
using namespace igpu::exporter;
using namespace igpu::test;
using namespace std::chrono_literals;

namespace {

constexpr Metric<Ratio, 5> kBusyRatio{
    "intel_gpu_engine_busy_ratio", Kind::gauge, "Busy.", {"device", "gt", "engine", "class", "source"}};
constexpr Metric<Count, 1> kInterrupts{"intel_gpu_interrupts_total", Kind::counter, "Interrupts.", {"device"}};
constexpr Metric<Watts, 3> kPower{"intel_gpu_power_watts", Kind::gauge, "Power.", {"device", "domain", "source"}};

const char* const kGpu = "0000:00:02.0";
constexpr std::chrono::system_clock::time_point kTime(std::chrono::nanoseconds(1754000000042000000));

std::string csv(CsvRows& rows, const SampleList& list) {
  const SampleList* lists[] = {&list};
  std::string out;
  rows.write(PageView(lists), kTime, 1s, out);
  return out;
}

}  // namespace

TEST_CASE("a CSV column keeps its place when its value is missing, and a late one is counted") {
  CsvRows rows;
  SampleList list;
  add_sample(list, kPower, {kGpu, "gpu", "rapl_pmu"}, 3.5);
  add_sample(list, kInterrupts, {kGpu}, 500);
  CHECK(csv(rows, list) ==
        "time,device,intel_gpu_power_watts{domain=gpu source=rapl_pmu},intel_gpu_interrupts_per_second\n"
        "2025-07-31T22:13:20.042Z,0000:00:02.0,3.5,500\n");
  list.clear();
  add_sample(list, kInterrupts, {kGpu}, 750);
  add_sample(list, kPower, {kGpu, "package", "rapl_pmu"}, 9);
  CHECK(csv(rows, list) == "2025-07-31T22:13:20.042Z,0000:00:02.0,,250\n");
  CHECK(rows.columns_left_out() == 1);
}

TEST_CASE("CSV quotes what holds a comma or a quote, and a machine without GPUs writes nothing") {
  CsvRows rows;
  CHECK(csv(rows, SampleList()).empty());
  SampleList list;
  add_sample(list, kPower, {kGpu, "a\"b,c", ""}, 1);
  CHECK(csv(rows, list).starts_with("time,device,\"intel_gpu_power_watts{domain=a\"\"b,c}\"\n"));
}

TEST_CASE("a class is a column of its own, from the engines if they are known and from the processes otherwise") {
  CsvRows rows;
  SampleList list;
  add_sample(list, kBusyRatio, {kGpu, "", "video", "video", "fdinfo"}, 0.5);
  CHECK(csv(rows, list) ==
        "time,device,intel_gpu_engine_busy_ratio{class=video}\n2025-07-31T22:13:20.042Z,0000:00:02.0,0.5\n");
  add_sample(list, kBusyRatio, {kGpu, "0", "vcs0", "video", "pmu"}, 0.25);
  add_sample(list, kBusyRatio, {kGpu, "0", "vcs1", "video", "pmu"}, 0.75);
  CHECK(csv(rows, list) == "2025-07-31T22:13:20.042Z,0000:00:02.0,0.5\n");
  list.clear();
  add_sample(list, kBusyRatio, {kGpu, "0", "vcs0", "video", "pmu"}, 0.25);
  add_sample(list, kBusyRatio, {kGpu, "", "video", "video", "fdinfo"}, 0.5);
  CHECK(csv(rows, list) == "2025-07-31T22:13:20.042Z,0000:00:02.0,0.25\n");
}

TEST_CASE("CSV leaves histograms out") {
  SampleList list;
  add_histogram(list, kPageWait, {kGpu, "video"}, {1, 0, 2, 0, 3}, 12.5);
  CsvRows rows;
  CHECK(csv(rows, list).empty());
}

TEST_SUITE_END();
