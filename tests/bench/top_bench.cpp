// SPDX-License-Identifier: Apache-2.0
//
// What one second of `top` costs: a scrape of the simulated Arc A770 with fifty processes, its frame, history and
// screen, and the same from a page of another exporter. CPU time of the process, median of the rounds; printed as a
// share of one core at 1 Hz. The simulation's own reading is part of the first.
//
//   top_bench            prints it
//   top_bench --check    exit status 1 if the aim (1 % of a core) is missed
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "fake/simulation/simulation.h"
#include "igpu/monitor.h"
#include "run/machine_parts.h"
#include "support/fake_clock.h"
#include "view/format/text_writer.h"
#include "view/top/host_frame.h"
#include "view/top/screen.h"

using namespace igpu;
using namespace igpu::simulation;
using namespace std::chrono_literals;
namespace top = igpu::exporter::top;

namespace {

constexpr std::size_t kProcesses = 50;
constexpr int kWarmUp = 5;
constexpr int kRounds = 100;
constexpr double kAim = 0.01;

class NoLog final : public Log {
 public:
  void write(LogLevel, std::string_view, std::initializer_list<LogField>) override {}
};

// Fifty copies of its first client, beside the profile's own.
MachineScript busy_arc() {
  MachineScript script = *script_of_profile("arc-a770");
  const ClientScript client = script.clients.front();
  const ProcessScript process = *script.process(client.pid);
  std::uint64_t id = 100'000;
  std::uint32_t pid = 100'000;
  for (std::size_t i = 0; i < kProcesses; ++i) {
    ProcessScript& copy = script.processes.emplace_back(process);
    copy.pid = ++pid;
    ClientScript& its = script.clients.emplace_back(client);
    its.first_id = ++id;
    its.pid = pid;
    its.passed_on.clear();
  }
  return script;
}

class Parts final : public MachineParts {
 public:
  Parts() : simulated(SimulatedMachine::create(busy_arc(), clock)), machine_(simulated->machine()) {}
  Machine& machine() override { return machine_; }

  test::FakeClock clock;
  std::unique_ptr<SimulatedMachine> simulated;

 private:
  Machine machine_;
};

double cpu_seconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  const bool check = argc > 1 && std::strcmp(argv[1], "--check") == 0;
  NoLog log;
  const auto parts = std::make_shared<Parts>();
  const auto monitor = make_monitor(parts, {}, log);
  top::Frame frame;
  frame.hosts.resize(1);
  top::History history;
  std::size_t cells = 0;
  const auto show = [&](top::HostFrame host) {
    host.time = parts->clock.now();
    top::add_rates(host, frame.hosts.front());
    history.add(0, host);
    frame.hosts.front() = std::move(host);
    cells += top::draw(frame, history, {}, {.clock = "14:05:09"}, {120, 40}).canvas.text().size();
  };
  std::vector<double> local, remote;
  std::string text;
  for (int i = 0; i < kWarmUp + kRounds; ++i) {
    parts->clock.advance(1s);
    const double begin = cpu_seconds();
    const auto result = monitor->scrape({});
    const PageView page(result->lists());
    show(top::frame_of(page));
    const double middle = cpu_seconds();
    text.clear();
    exporter::write_prometheus_text(page, text);
    const double written = cpu_seconds();
    show(top::frame_of(std::string_view(text)));
    const double end = cpu_seconds();
    if (i < kWarmUp) continue;
    local.push_back(middle - begin);
    remote.push_back(end - written);
  }
  const std::size_t processes = top::count_clients(frame.hosts.front(), false);
  std::printf("top at 1 Hz, Arc A770 with %zu processes, 120x40 (%zu bytes of page, %zu of screen a round)\n",
              processes, text.size(), cells / (2 * (kWarmUp + kRounds)));
  std::printf("this machine: %.3f %% of a core; another exporter's page: %.3f %%\n", median(local) * 100,
              median(remote) * 100);
  if (processes < kProcesses) {
    std::fprintf(stderr, "top_bench: fewer processes than intended\n");
    return 1;
  }
  return check && (median(local) > kAim || median(remote) > kAim) ? 1 : 0;
}
