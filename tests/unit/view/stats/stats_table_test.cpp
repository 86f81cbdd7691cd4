// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "support/sample_page.h"
#include "view/stats/stats_writer.h"

using namespace igpu;
using igpu::test::add_sample;

namespace {

constexpr Metric<Ratio, 5> kBusy{
    "intel_gpu_engine_busy_ratio", Kind::gauge, "Busy.", {"device", "gt", "engine", "class", "source"}};
constexpr Metric<Watts, 3> kPower{"intel_gpu_power_watts", Kind::gauge, "Power.", {"device", "domain", "source"}};
constexpr Metric<Bytes, 2> kSize{"intel_gpu_memory_size_bytes", Kind::gauge, "Size.", {"device", "memory_region"}};
constexpr Metric<Bytes, 2> kUsed{"intel_gpu_memory_used_bytes", Kind::gauge, "Used.", {"device", "memory_region"}};
constexpr Metric<Count, 3> kClients{"intel_gpu_process_clients", Kind::gauge, "Clients.", {"device", "pid", "comm"}};
constexpr Metric<Ratio, 4> kProcessBusy{
    "intel_gpu_process_engine_busy_ratio", Kind::gauge, "Busy.", {"device", "pid", "comm", "class"}};
constexpr Metric<Flag, 3> kThrottled{"intel_gpu_throttled", Kind::gauge, "Throttled.", {"device", "gt", "reason"}};
constexpr Metric<Flag, 1> kSuspended{"intel_gpu_runtime_suspended", Kind::gauge, "Asleep.", {"device"}};

Gpu arc() {
  Gpu gpu;
  gpu.address = "0000:03:00.0";
  gpu.name = "Arc A770";
  gpu.kind = GpuKind::discrete;
  return gpu;
}

std::string table(const SampleList& list) {
  const SampleList* const lists[] = {&list};
  const Gpu gpu = arc();
  return exporter::stats_table(PageView(lists), {&gpu, 1});
}

}  // namespace

TEST_SUITE_BEGIN("stats_table");

TEST_CASE("values become lines with everyday units") {
  SampleList list;
  add_sample(list, kBusy, {"0000:03:00.0", "0", "rcs0", "render", "pmu"}, 0.1234);
  add_sample(list, kBusy, {"0000:03:00.0", "", "video", "video", "fdinfo"}, 1);
  add_sample(list, kBusy, {"0000:00:02.0", "0", "rcs0", "render", "pmu"}, 0.9);
  add_sample(list, kPower, {"0000:03:00.0", "card", "hwmon"}, 93.64);
  add_sample(list, kSize, {"0000:03:00.0", "local0"}, 17179869184.0);
  add_sample(list, kUsed, {"0000:03:00.0", "local0"}, 1073741824.0);
  CHECK(table(list) ==
        "0000:03:00.0  Arc A770 (discrete, i915)\n"
        "  engines       gt0 rcs0 render                 12.3 %\n"
        "                video                          100.0 %\n"
        "  power         card                            93.6 W\n"
        "  memory        local0                           1.0 GiB used of   16.0 GiB\n");
}

TEST_CASE("a virtual function is a line, with the machine that holds it; its name may be anything") {
  constexpr Metric<Count, 5> kVf{
      "intel_gpu_vf_info", Kind::info, "VF.", {"device", "vf", "vf_address", "driver", "workload"}};
  constexpr Metric<Ratio, 5> kVfBusy{
      "intel_gpu_vf_engine_busy_ratio", Kind::gauge, "Busy.", {"device", "vf", "gt", "engine", "class"}};
  SampleList list;
  add_sample(list, kVf, {"0000:03:00.0", "1", "0000:03:00.1", "xe-vfio-pci", "news\033[2J"}, 1);
  add_sample(list, kVf, {"0000:03:00.0", "2", "0000:03:00.2", "xe", ""}, 1);
  add_sample(list, kVf, {"0000:03:00.0", "3", "0000:03:00.3", "none", ""}, 1);
  add_sample(list, kVfBusy, {"0000:03:00.0", "1", "1", "vcs0", "video"}, 0.4);
  add_sample(list, kVfBusy, {"0000:03:00.0", "1", "1", "vcs1", "video"}, 0.2);
  add_sample(list, kVfBusy, {"0000:03:00.0", "1", "0", "ccs0", "compute"}, 1);
  add_sample(list, kVfBusy, {"0000:03:00.0", "3", "0", "ccs0", "compute"}, 0);
  CHECK(table(list) ==
        "0000:03:00.0  Arc A770 (discrete, i915)\n"
        "  functions     vf1 xe-vfio-pci               news?[2J: video 30.0 %, compute 100.0 %\n"
        "                vf2 xe                        -\n"
        "                vf3 none                      idle\n");
}

TEST_CASE("a GT that is throttled is a line, also without a reason") {
  SampleList list;
  add_sample(list, kThrottled, {"0000:03:00.0", "0", "any"}, 1);
  add_sample(list, kThrottled, {"0000:03:00.0", "1", "any"}, 1);
  add_sample(list, kThrottled, {"0000:03:00.0", "1", "pl1"}, 1);
  add_sample(list, kThrottled, {"0000:03:00.0", "1", "thermal"}, 0);
  CHECK(table(list) ==
        "0000:03:00.0  Arc A770 (discrete, i915)\n"
        "  throttled     gt0 no reason given, gt1 pl1\n");
}

TEST_CASE("the busiest processes come first; their names are printed without control characters") {
  SampleList list;
  add_sample(list, kClients, {"0000:03:00.0", "7", "idle"}, 1);
  add_sample(list, kClients, {"0000:03:00.0", "8", "ff\x1bmpeg"}, 1);
  add_sample(list, kProcessBusy, {"0000:03:00.0", "8", "ff\x1bmpeg", "video"}, 0.25);
  add_sample(list, kProcessBusy, {"0000:03:00.0", "7", "idle", "video"}, 0);
  const std::string text = table(list);
  CHECK(text.find("ff?mpeg") < text.find("idle"));
  CHECK(text.find("video 25.0 %") != std::string::npos);
}

TEST_CASE("a process's line stays within the width, and a class is not separated from its number") {
  SampleList list;
  add_sample(list, kClients, {"0000:03:00.0", "4194303", "a-very-long-com"}, 1);
  for (const char* engine_class : {"render", "copy", "video", "video_enhance", "compute"})
    add_sample(list, kProcessBusy, {"0000:03:00.0", "4194303", "a-very-long-com", engine_class}, 0.5);
  CHECK(table(list) ==
        "0000:03:00.0  Arc A770 (discrete, i915)\n"
        "  processes     4194303 a-very-long-com      0 B    render 50.0 %, copy 50.0 %,\n"
        "                                                    video 50.0 %,\n"
        "                                                    video_enhance 50.0 %,\n"
        "                                                    compute 50.0 %\n");
}

TEST_CASE("a sleeping GPU shows why it has few values") {
  SampleList list;
  add_sample(list, kSuspended, {"0000:03:00.0"}, 1);
  CHECK(table(list) == "0000:03:00.0  Arc A770 (discrete, i915)\n  asleep; values appear when a program wakes it\n");
}

TEST_SUITE_END();
