// SPDX-License-Identifier: Apache-2.0
// Every captured machine, as the real program sees it through --path.*: with this kernel's perf and no render nodes.
#include <doctest/doctest.h>

#include <csignal>
#include <set>
#include <string>
#include <vector>

#include "support/exporter_process.h"
#include "support/exposition_parser.h"
#include "support/http_client.h"
#include "support/machine_archive.h"
#include "support/machine_tree.h"
#include "support/paths.h"
#include "support/run_program.h"

using namespace igpu::test;

namespace {

std::vector<std::string> paths(const MachineTree& tree) {
  return {"--path.sysfs=" + tree.path("sys"), "--path.procfs=" + tree.path("proc"), "--path.devfs=" + tree.path("dev")};
}

void lay_out(MachineTree& tree, const std::string& machine) {
  for (const char* directory : {"sys", "proc", "dev/dri"}) tree.make_directory(directory);
  tree.lay_out(machine);
}

std::set<std::string> devices(const Exposition& page) {
  std::set<std::string> found;
  for (const ExpositionSample* sample : page.find("intel_gpu_info")) found.insert(std::string(sample->label("device")));
  return found;
}

}  // namespace

TEST_SUITE_BEGIN("machines");

TEST_CASE("every captured machine gives valid pages whose series belong to its GPUs and NPU") {
  const std::vector<std::string> machines = machine_archives();
  CHECK(machines.size() >= 10);
  for (const std::string& machine : machines) {
    CAPTURE(machine);
    MachineTree tree;
    lay_out(tree, machine);
    std::vector<std::string> arguments = paths(tree);
    arguments.emplace_back("--scrape.min-window=10ms");
    ExporterProcess exporter(arguments);
    const Exposition first = parse_prometheus_text(http_get(exporter.port(), "/metrics").body);
    const Exposition second = parse_openmetrics(
        http_get(exporter.port(), "/metrics", "Accept: application/openmetrics-text; version=1.0.0\r\n").body);
    const std::set<std::string> gpus = devices(first);
    CHECK(first.value("intel_gpu_exporter_devices") == static_cast<double>(gpus.size()));
    CHECK(devices(second) == gpus);
    std::set<std::string> owners = gpus;
    for (const ExpositionSample* npu : first.find("intel_npu_info")) owners.emplace(npu->label("device"));
    for (const ExpositionFamily& family : first.families) {
      for (const ExpositionSample& sample : family.samples) {
        const std::string device(sample.label("device"));
        CAPTURE(sample.name);
        CHECK((device.empty() || owners.contains(device)));
      }
    }
    CHECK(http_get(exporter.port(), "/").status == 200);
    CHECK(exporter.stop(SIGTERM) == 0);
  }
}

TEST_CASE("list and doctor cope with every captured machine") {
  for (const std::string& machine : machine_archives()) {
    CAPTURE(machine);
    MachineTree tree;
    lay_out(tree, machine);
    for (const char* command : {"list", "doctor"}) {
      std::vector<std::string> arguments = paths(tree);
      arguments.insert(arguments.begin(), {exporter_binary(), command});
      const ProgramOutcome outcome = run_program(arguments);
      CHECK(outcome.status <= 1);
      CHECK_FALSE(outcome.output.empty());
    }
  }
}

TEST_SUITE_END();
