// SPDX-License-Identifier: Apache-2.0
// Collector workloads in the running program, with its sandbox closed: names from files of the host, rules that are
// read again, and what is wrong with a rules file.
#include <doctest/doctest.h>

#include <chrono>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "support/exporter_process.h"
#include "support/exposition_parser.h"
#include "support/gpu_tree.h"
#include "support/http_client.h"
#include "support/machine_tree.h"
#include "support/paths.h"
#include "support/proc_tree.h"
#include "support/run_program.h"

using namespace igpu::test;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

constexpr const char* kBusy = "intel_gpu_workload_engine_busy_seconds_total";
const std::string kGpu = "0000:00:02.0";
const std::string kContainer(64, 'a');
const std::string kPodUid = "8a3f1b42-1c2d-4e5f-9a6b-7c8d9e0f1a2b";

// A machine with a process in a pod and one in a Docker container, both with a client.
struct Host {
  MachineTree tree;

  Host() {
    add_gpu(tree,
            {.pci_path = "pci0000:00/0000:00:02.0", .driver = "i915", .card = "card0", .render_node = "renderD128"});
    tree.make_directory("dev/dri");
    tree.write("proc/uptime", "12.00 1.00\n");  // as lxcfs does in a container that is twelve seconds old
    tree.write("proc/stat", "cpu0 100 0 0 0 0 0 0 0\nbtime 0\n");
    add_process(tree, 7,
                {.cgroup = "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + underscored(kPodUid) +
                           ".slice/cri-containerd-" + std::string(64, 'b') + ".scope\n"});
    add_process(tree, 9, {.comm = "shinobi", .cgroup = "0::/system.slice/docker-" + kContainer + ".scope\n"});
    tree.write("root/var/log/pods/media_live-0_" + kPodUid + "/encoder/0.log", "");
    tree.write("root/var/lib/docker/containers/" + kContainer + "/config.v2.json", "{\"Name\":\"/recorder\"}");
    work(1);
  }
  // Both clients have worked for this long.
  void work(int seconds) {
    for (const std::uint32_t pid : {7U, 9U})
      add_file(tree, pid, 3,
               "drm-driver:\ti915\ndrm-pdev:\t" + kGpu + "\ndrm-client-id:\t" + std::to_string(pid) +
                   "\ndrm-engine-video:\t" + std::to_string(seconds) + "000000000 ns\n");
  }
  std::vector<std::string> arguments(std::vector<std::string> more) const {
    std::vector<std::string> all{"--path.sysfs=" + tree.path("sys"), "--path.procfs=" + tree.path("proc"),
                                 "--path.devfs=" + tree.path("dev"), "--path.rootfs=" + tree.path("root"),
                                 "--scrape.min-window=10ms"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

 private:
  static std::string underscored(std::string text) {
    for (char& c : text)
      if (c == '-') c = '_';
    return text;
  }
};

Exposition scrape(const ExporterProcess& exporter) {
  return parse_prometheus_text(http_get(exporter.port(), "/metrics").body);
}

// Another exporter may have the default port.
ProgramOutcome run(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"env", "INTEL_GPU_EXPORTER_WEB_LISTEN_ADDRESS=127.0.0.1:0", exporter_binary()});
  return run_program(arguments);
}

double sum_of(const Exposition& page, std::string_view metric = kBusy) {
  double sum = 0;
  for (const auto* sample : page.find(metric)) sum += sample->value;
  return sum;
}

// The clock of start times, in hundredths of a second.
std::uint64_t boot_ticks() {
  timespec time{};
  ::clock_gettime(CLOCK_BOOTTIME, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 100 + static_cast<std::uint64_t>(time.tv_nsec) / 10'000'000;
}

template <class Condition>
bool waits_until(Condition condition) {
  for (const auto end = std::chrono::steady_clock::now() + 60s; std::chrono::steady_clock::now() < end;) {
    if (condition()) return true;
    std::this_thread::sleep_for(50ms);
  }
  return false;
}

// Time stamps of files are coarse: a change within the same one is read again for two seconds.
bool waits_for_series(const ExporterProcess& exporter, std::string_view workload) {
  return waits_until([&] {
    return scrape(exporter).value("intel_gpu_workload_info", {{"workload", workload}}).has_value();
  });
}

bool waits_for_log(const ExporterProcess& exporter, const std::string& text) {
  return waits_until([&] {
    (void)scrape(exporter);
    return exporter.log().find(text) != std::string::npos;
  });
}

}  // namespace

TEST_SUITE_BEGIN("workloads of the program");

TEST_CASE("with the sandbox closed, workloads have the names that the host's files give them") {
  Host host;
  ExporterProcess exporter(host.arguments({"--collector.workloads", "--workload.by=container", "--collector.host"}));
  host.work(4);
  const Exposition page = scrape(exporter);
  CHECK(page.value(kBusy, {{"workload", "media/live-0/encoder"}, {"class", "video"}, {"device", kGpu}}) == 3);
  CHECK(page.value(kBusy, {{"workload", "recorder"}, {"class", "video"}}) == 3);
  CHECK(page.value("intel_gpu_workload_info", {{"workload", "media/live-0/encoder"},
                                               {"kind", "container"},
                                               {"namespace", "media"},
                                               {"pod", "live-0"},
                                               {"container", "encoder"},
                                               {"pod_uid", kPodUid}}) == 1);
  CHECK(page.value("intel_gpu_exporter_feature_available", {{"feature", "workload_names"}, {"reason", "ok"}}) == 1);
  CHECK(page.value("intel_gpu_host_processes") == 2);
  CHECK(page.value("intel_gpu_host_cpu_seconds_total", {{"cpu", "0"}, {"mode", "user"}}) == 1);
  CHECK(page.value("intel_gpu_scrape_collector_success", {{"collector", "workloads"}}) == 1);
  CHECK(exporter.stop(SIGTERM) == 0);
}

TEST_CASE("names that no file of the host has are a feature with its hint, and ids are shown instead") {
  Host host;
  fs::remove_all(host.tree.path("root/var"));
  const ProgramOutcome doctor = run(host.arguments({"doctor", "--collector.workloads"}));
  CHECK(doctor.output.find("workload_names") != std::string::npos);
  CHECK(doctor.output.find("--path.rootfs") != std::string::npos);
  ExporterProcess exporter(host.arguments({"--collector.workloads"}));
  const Exposition page = scrape(exporter);
  CHECK(page.value("intel_gpu_workload_info", {{"workload", kPodUid}, {"pod", ""}}) == 1);
  CHECK(page.value("intel_gpu_workload_info", {{"workload", kContainer.substr(0, 12)}}) == 1);
  CHECK(page.value("intel_gpu_exporter_feature_available", {{"feature", "workload_names"}, {"reason", "permission"}}) ==
        0);
}

TEST_CASE("without the collector there is none of it; rules and trees turn it on") {
  Host host;
  host.tree.write("rules.yml", "rules:\n  - name: all\n    match: {comm: '*'}\n");
  const std::string rules = "--workload.rules=" + host.tree.path("rules.yml");
  const auto collects = [&](const std::vector<std::string>& flags) {
    const ExporterProcess exporter(host.arguments(flags));
    return scrape(exporter).value("intel_gpu_scrape_collector_success", {{"collector", "workloads"}}).has_value();
  };
  CHECK_FALSE(collects({}));
  CHECK(collects({rules}));
  CHECK(collects({"--workload.tree=news=7"}));
  CHECK_FALSE(collects({rules, "--no-collector.workloads"}));
}

TEST_CASE("a fork bomb of GPU clients leaves the page bounded, the exporter alive, and no second lost") {
  Host host;
  ExporterProcess exporter(host.arguments(
      {"--collector.workloads", "--workload.by=comm", "--workload.max=32", "--collector.fdinfo.max-processes=64"}));
  const double before = sum_of(scrape(exporter));
  constexpr std::uint32_t kProcesses = 700;
  constexpr int kRounds = 3;
  for (int round = 0; round < kRounds; ++round) {
    const std::uint32_t first = 1000 + static_cast<std::uint32_t>(round) * kProcesses;
    const std::uint64_t now = boot_ticks();
    for (std::uint32_t pid = first; pid < first + kProcesses; ++pid) {
      add_process(host.tree, pid, {.comm = "b" + std::to_string(pid), .start_time_ticks = now});
      add_file(host.tree, pid, 3,
               "drm-driver:\ti915\ndrm-pdev:\t" + kGpu + "\ndrm-client-id:\t" + std::to_string(pid) +
                   "\ndrm-engine-video:\t1000000000 ns\n");
    }
    const auto begun = std::chrono::steady_clock::now();
    const auto answer = http_get(exporter.port(), "/metrics");
    CHECK(std::chrono::steady_clock::now() - begun < 10s);  // --web.timeout
    CHECK(answer.status == 200);
    const Exposition page = parse_prometheus_text(answer.body);
    CHECK(page.find("intel_gpu_workload_processes").size() <= 33);
    CHECK(page.find("intel_gpu_process_info").size() <= 64);
    CHECK(answer.body.size() < 200'000);
    CHECK(page.value("intel_gpu_scrape_collector_success", {{"collector", "workloads"}}) == 1);
    // A scan that reaches its time limit ends early; the next ones find the rest.
    CHECK(waits_until([&] { return sum_of(scrape(exporter)) - before == (round + 1.0) * kProcesses; }));
    for (std::uint32_t pid = first; pid < first + kProcesses; ++pid) host.tree.remove("proc/" + std::to_string(pid));
  }
  // The two that were there before are left.
  CHECK(waits_until([&] { return sum_of(scrape(exporter), "intel_gpu_workload_processes") == 2; }));
  CHECK(sum_of(scrape(exporter)) - before == kRounds * kProcesses);
  CHECK(exporter.stop(SIGTERM) == 0);
}

TEST_CASE("in an LXC container a process is as old as the host's clock says, not as /proc/uptime does") {
  Host host;
  ExporterProcess exporter(host.arguments({"--collector.workloads", "--workload.by=comm"}));
  (void)scrape(exporter);
  // It began a second after the host, and uses the GPU for the first time now.
  add_process(host.tree, 11, {.comm = "old", .start_time_ticks = 100, .cpu_ticks = 105'000});
  add_file(host.tree, 11, 3,
           "drm-driver:\ti915\ndrm-pdev:\t" + kGpu + "\ndrm-client-id:\t11\ndrm-engine-video:\t4000000000000 ns\n");
  const Exposition page = scrape(exporter);
  CHECK(page.value(kBusy, {{"workload", "old"}}) == 0);
  CHECK(page.value("intel_gpu_workload_started_total", {{"workload", "old"}}) == 0);
  CHECK(page.value("intel_gpu_workload_cpu_seconds_total", {{"workload", "old"}, {"mode", "user"}}) == 0);
  CHECK(exporter.stop(SIGTERM) == 0);
}

TEST_CASE("series by process can be left out beside workloads") {
  Host host;
  const ExporterProcess exporter(host.arguments({"--collector.workloads", "--no-collector.fdinfo.per-process"}));
  const Exposition page = scrape(exporter);
  CHECK(page.value("intel_gpu_processes") == 2);
  CHECK(page.find("intel_gpu_process_info").empty());
  CHECK(page.find("intel_gpu_workload_info").size() == 2);
}

TEST_CASE("a rules file that is wrong ends the start with one line: file, line and what is expected") {
  Host host;
  host.tree.write("rules.yml", "rules:\n  - name: all\n    matches: {comm: '*'}\n");
  const std::string file = host.tree.path("rules.yml");
  for (const char* command : {"serve", "stats", "doctor", "list"}) {
    CAPTURE(command);
    const ProgramOutcome outcome = run(host.arguments({command, "--workload.rules=" + file}));
    CHECK(outcome.status == 1);
    CHECK(outcome.output.find(file + ":3: ") != std::string::npos);
    CHECK(outcome.output.find("expected name or match") != std::string::npos);
    CHECK(outcome.output.find('\n') == outcome.output.size() - 1);
  }
  const ProgramOutcome missing = run(host.arguments({"--workload.rules=" + file + ".not"}));
  CHECK(missing.status == 1);
  CHECK(missing.output.find(file + ".not") != std::string::npos);
  for (const char* bad : {"--workload.tree=news", "--workload.by=cgroup", "--workload.max=0"}) {
    const ProgramOutcome outcome = run(host.arguments({bad}));
    CHECK(outcome.status == 2);
    CHECK(outcome.output.find(std::string(bad).substr(0, 11)) != std::string::npos);
  }
}

TEST_CASE("rules that change are read again within the sandbox; a mistake in them leaves those in use") {
  Host host;
  const auto write = [&](const std::string& text) { host.tree.write("rules.yml", text); };
  write("rules:\n  - name: first\n    match: {comm: '*'}\n");
  ExporterProcess exporter(host.arguments({"--workload.rules=" + host.tree.path("rules.yml")}));
  host.work(3);
  CHECK(scrape(exporter).value(kBusy, {{"workload", "first"}}) == 4);  // two clients
  write("rules:\n  - name: second\n    match: {comm: '*'}\n");
  CHECK(waits_for_series(exporter, "second"));
  write("rules: nonsense\n");
  CHECK(waits_for_log(exporter, "rules.yml:1"));
  host.work(6);
  const Exposition page = scrape(exporter);
  CHECK(page.value(kBusy, {{"workload", "first"}}) == 4);
  CHECK(page.value(kBusy, {{"workload", "second"}}) == 6);
  CHECK(page.value("intel_gpu_scrape_collector_success", {{"collector", "workloads"}}) == 1);
}

TEST_SUITE_END();
