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
    for (const char* other : {"intel_npu_info", "intel_gpu_unbound"})
      for (const ExpositionSample* device : first.find(other)) owners.emplace(device->label("device"));
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

TEST_CASE("a card without a driver and one of a guest are in list, doctor, page, snapshot and log") {
  const std::string missing = "0000:03:00.0", guests = "0000:04:00.0";
  const auto holds = [](const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
  };
  MachineTree tree;
  lay_out(tree, "b580-without-firmware");
  const auto run = [&](const char* command, const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = paths(tree);
    arguments.insert(arguments.begin(), {exporter_binary(), command});
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_program(arguments);
  };
  CHECK(holds(run("list").output, missing + "  Battlemage G21 [Arc B580]\n  driver        none"));
  CHECK(holds(run("list").output, guests));
  CHECK(run("list").status == 0);
  const ProgramOutcome chosen = run("list", {"--gpu=" + missing});
  CHECK(chosen.status == 0);
  CHECK(holds(chosen.output, missing));
  CHECK_FALSE(holds(chosen.output, guests));
  CHECK(holds(run("doctor").output, "sudo modprobe -a i915 xe"));
  CHECK(holds(run("doctor").output, guests));
  ExporterProcess exporter(paths(tree));
  const Exposition page = parse_prometheus_text(http_get(exporter.port(), "/metrics").body);
  CHECK(page.value("intel_gpu_unbound", {{"device", missing}, {"device_id", "0xe20b"}, {"reason", "no_driver"}}) == 1);
  CHECK(page.value("intel_gpu_unbound", {{"device", guests}, {"device_id", "0x56a0"}, {"reason", "guest"}}) == 1);
  for (const char* place : {"/", "/api/v1/snapshot", "/api/v1/snapshot?view=page", "/api/v1/doctor"}) {
    CAPTURE(place);
    const std::string body = http_get(exporter.port(), place).body;
    CHECK(holds(body, missing));
    CHECK(holds(body, guests));
  }
  CHECK(exporter.stop(SIGTERM) == 0);
  CHECK(holds(exporter.log(), "GPU without i915 or xe is not monitored"));
}

TEST_CASE("where the only card has no driver, stats, top, query and the log name it") {
  MachineTree tree;
  for (const char* directory : {"sys/class/drm", "sys/bus/pci/devices", "proc", "dev/dri"})
    tree.make_directory(directory);
  const std::string card = "devices/pci0000:00/0000:03:00.0";
  tree.write("sys/" + card + "/vendor", "0x8086\n");
  tree.write("sys/" + card + "/device", "0xe20b\n");
  tree.write("sys/" + card + "/class", "0x030000\n");
  tree.link("sys/bus/pci/devices/0000:03:00.0", "../../../" + card);
  const std::string line = "0000:03:00.0 Battlemage G21 [Arc B580]: no driver has taken it (see doctor)";
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"stats"}, {"top", "--once"}, {"query"}, {"stats", "--gpu=0000:03:00.0"}}) {
    std::vector<std::string> arguments = paths(tree);
    arguments.insert(arguments.begin(), exporter_binary());
    arguments.insert(arguments.begin() + 1, words.begin(), words.end());
    const ProgramOutcome outcome = run_program(arguments);
    CAPTURE(outcome.output);
    CHECK(outcome.output.find(line) != std::string::npos);
    CHECK(outcome.status == 1);
  }
  ExporterProcess exporter(paths(tree));
  CHECK(exporter.stop(SIGTERM) == 0);
  CHECK(exporter.log().find("no Intel GPU found") == std::string::npos);
  CHECK(exporter.log().find("no Intel GPU bound to i915 or xe") != std::string::npos);
}

TEST_SUITE_END();
