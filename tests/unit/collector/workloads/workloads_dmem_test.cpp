// SPDX-License-Identifier: Apache-2.0
// Memory of cards by workload from the controller dmem: without clients, processes or any permission.
#include <doctest/doctest.h>

#include <cerrno>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "collector/collectors.h"
#include "support/sink_values.h"
#include "support/test_machine.h"

TEST_SUITE_BEGIN("workloads_dmem");

using namespace igpu;
using namespace igpu::test;
using namespace std::chrono_literals;

namespace {

using Labels = std::initializer_list<std::pair<std::string_view, std::string_view>>;

const std::string kCard = "0000:03:00.0";
const std::string kId(64, 'a');
const std::string kPod =
    "/kubepods.slice/kubepods-burstable.slice/"
    "kubepods-burstable-pod2c48913c_b29f_11e7_9350_020968147796.slice";

// An Arc card under xe, and an exporter that may see no other process.
class Scene {
 public:
  TestMachine m;
  SampleSink sink;
  TestMachinePass pass{m.clock};
  MachineGiven given;

  Scene() {
    Gpu card;
    card.address = kCard;
    card.driver = Driver::xe;
    card.kind = GpuKind::discrete;
    pass.bound = {card};
    pass.snapshot = Absent{Reason::permission, EACCES};
  }
  void group(const std::string& path, std::uint64_t bytes, const std::string& device = kCard) {
    m.tree.write("sys/fs/cgroup" + path + "/dmem.current", "drm/" + device + "/vram0 " + std::to_string(bytes) + "\n");
  }
  void scrape() {
    const auto workloads = make_collector(workloads_collector, m.machine(), m.log, given);
    sink.clear();
    workloads->collect(pass, sink);
  }
  std::optional<double> value(std::string_view metric, Labels labels = {}) const {
    return value_in(sink, metric, labels);
  }
  std::optional<double> memory(std::string_view workload) const {
    return value("intel_gpu_workload_memory_bytes", {{"device", kCard},
                                                     {"workload", workload},
                                                     {"memory_region", "vram0"},
                                                     {"state", "resident"},
                                                     {"source", "dmem"}});
  }
  std::optional<Reason> missing(std::string_view feature) const {
    for (const auto& state : sink.features())
      if (state.feature->name == feature && !state.available) return state.absent.reason;
    return std::nullopt;
  }
};

}  // namespace

TEST_CASE("pods, containers and units have their memory although no process is visible") {
  Scene s;
  s.group("", 1000);
  s.group("/system.slice", 600);
  s.group("/system.slice/jellyfin.service", 250);
  s.group("/system.slice/docker-" + kId + ".scope", 350);
  s.group("/kubepods.slice", 400);
  s.group("/kubepods.slice/kubepods-burstable.slice", 400);
  s.group(kPod, 400);
  s.group(kPod + "/cri-containerd-" + kId + ".scope", 300);
  s.group(kPod + "/cri-containerd-" + std::string(64, 'b') + ".scope", 100);
  s.scrape();
  CHECK(s.missing("workloads") == Reason::permission);
  CHECK(!s.missing("cgroup_card_memory"));
  CHECK(s.memory("jellyfin.service") == 250);
  CHECK(s.memory(kId.substr(0, 12)) == 350);
  CHECK(s.memory("2c48913c-b29f-11e7-9350-020968147796") == 400);  // both containers
  CHECK(s.value("intel_gpu_workload_info", {{"workload", "jellyfin.service"}, {"kind", "systemd_unit"}}) == 1);
  CHECK(s.value("intel_gpu_workload_info", {{"workload", "2c48913c-b29f-11e7-9350-020968147796"}, {"kind", "pod"}}) ==
        1);
  CHECK(!s.value("intel_gpu_workload_clients"));
}

TEST_CASE("what no path names belongs to no workload; other cards are left out") {
  Scene s;
  s.group("", 1000);
  s.group("/system.slice", 600);
  s.group("/build", 100);
  s.group("/media.service", 7, "0000:99:00.0");
  s.scrape();
  CHECK(!s.value("intel_gpu_workload_memory_bytes"));
}

TEST_CASE("workloads beyond --workload.max are one") {
  Scene s;
  s.given.options["workload.max"] = {"2"};
  s.group("", 1000);
  for (int i = 0; i < 5; ++i) s.group("/unit" + std::to_string(i) + ".service", 100);
  s.scrape();
  CHECK(s.memory("other") == 300);
}

TEST_CASE("only cards under xe have regions: without one, no file is read") {
  Scene s;
  s.group("", 1000);
  s.group("/a.service", 100);
  s.pass.bound.front().kind = GpuKind::integrated;
  s.scrape();
  CHECK(s.missing("cgroup_card_memory") == Reason::hardware);
  CHECK(!s.value("intel_gpu_workload_memory_bytes"));
}

TEST_CASE("no controller, and a controller that is enabled for no group, are different reasons") {
  Scene s;
  s.scrape();
  CHECK(s.missing("cgroup_card_memory") == Reason::kernel);
  s.group("", 1000);
  s.scrape();
  CHECK(s.missing("cgroup_card_memory") == Reason::disabled);
}

TEST_SUITE_END();
