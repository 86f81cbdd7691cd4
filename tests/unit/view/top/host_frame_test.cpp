// SPDX-License-Identifier: Apache-2.0
#include "view/top/host_frame.h"

#include <doctest/doctest.h>

#include <stdexcept>
#include <string>

using namespace igpu::exporter;
using namespace igpu::exporter::top;
using namespace std::chrono_literals;

namespace {

const std::string kOurs = "intel_gpu_exporter_devices 1\n";

HostFrame frame(const std::string& page) { return frame_of(std::string_view(page + kOurs)); }

}  // namespace

TEST_SUITE_BEGIN("frame");

TEST_CASE("throttle reasons: \"any\" only if the driver gives no other") {
  const HostFrame host = frame(
      "intel_gpu_throttled{device=\"d\",gt=\"0\",reason=\"any\"} 1\n"
      "intel_gpu_throttled{device=\"d\",gt=\"0\",reason=\"pl1\"} 1\n"
      "intel_gpu_throttled{device=\"d\",gt=\"0\",reason=\"thermal\"} 0\n"
      "intel_gpu_throttled{device=\"d\",gt=\"1\",reason=\"any\"} 1\n");
  REQUIRE(host.gpus.size() == 1);
  const auto& gts = rows_of(host.gpus[0].throttling);
  REQUIRE(gts.size() == 2);
  CHECK(throttle_reasons(gts[0]) == std::vector<std::string_view>{"pl1"});
  CHECK(throttle_reasons(gts[1]) == std::vector<std::string_view>{"no reason given"});
}

TEST_CASE("a missing value stays missing, NaN and infinity are missing, ratios stay in 0..1") {
  const HostFrame host = frame(
      "intel_gpu_engine_busy_ratio{device=\"d\",gt=\"0\",engine=\"rcs0\",class=\"render\"} NaN\n"
      "intel_gpu_engine_busy_ratio{device=\"d\",gt=\"0\",engine=\"vcs0\",class=\"video\"} 7\n"
      "intel_gpu_temperature_celsius{device=\"d\",sensor=\"package\"} +Inf\n"
      "intel_gpu_memory_size_bytes{device=\"d\",memory_region=\"vram0\"} 100\n");
  REQUIRE(host.gpus.size() == 1);
  const igpu::GpuModel& gpu = host.gpus[0];
  REQUIRE(rows_of(gpu.engines).size() == 1);
  CHECK(gpu.engines->front().busy->value == 1);
  CHECK_FALSE(gpu.temperatures);
  REQUIRE(rows_of(gpu.memory).size() == 1);
  CHECK_FALSE(gpu.memory->front().used);
}

TEST_CASE("CPU time of a process is a rate between two frames; none where the counter began again") {
  const auto page = [](const char* first, const char* second) {
    return "intel_gpu_process_cpu_seconds_total{device=\"d\",pid=\"1\",comm=\"a\"} " + std::string(first) +
           "\nintel_gpu_process_cpu_seconds_total{device=\"d\",pid=\"2\",comm=\"b\"} " + second + "\n";
  };
  HostFrame before = frame(page("10", "10")), now = frame(page("11", "3"));
  before.time = 100s;
  now.time = 102s;
  add_rates(now, before);
  const auto& processes = rows_of(now.gpus.at(0).processes);
  REQUIRE(processes.size() == 2);
  CHECK(cpu_of(now, cpu_key(processes[0])) == 0.5);
  CHECK_FALSE(cpu_of(now, cpu_key(processes[1])));
}

TEST_CASE("a page that is none of this exporter is an error with a reason") {
  CHECK_THROWS_WITH_AS(frame_of(std::string_view("<html>\n")), "its page holds no metrics", std::runtime_error);
  CHECK_THROWS_WITH_AS(frame_of(std::string_view("node_load1 1\n")),
                       "its metrics are not those of an intel-gpu-exporter", std::runtime_error);
}

TEST_CASE("a page with too many GPUs and processes is cut and counted") {
  std::string page;
  for (int i = 0; i < 200; ++i) page += "intel_gpu_processes{device=\"" + std::to_string(i) + "\"} 1\n";
  for (int i = 0; i < 20'100; ++i)
    page += "intel_gpu_process_clients{device=\"0\",pid=\"" + std::to_string(i) + "\",comm=\"a\"} 1\n";
  const HostFrame host = frame(page);
  CHECK(host.gpus.size() == 128);
  CHECK(count_clients(host, false) == 20'000);
  CHECK(host.rows_left_out == 72 + 100);
}

TEST_SUITE_END();
