// SPDX-License-Identifier: Apache-2.0
//
// One tick of the sampler beside the bare system calls that it cannot do without, in one run. The files of an Arc A770
// under i915 are real files in a scratch folder, and its perf group is a descriptor too, so both sides make real system
// calls; a real sysfs costs more for both. Of a file that is not the kernel's own the reader also asks whether it is
// still linked (filesystem_linux.cpp): both sides do that, too. The best of several rounds counts. For instruction
// counts: valgrind --tool=callgrind --toggle-collect='*Sampler::tick*' sampling_bench 1
#include <fcntl.h>
#include <malloc.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "collector/sampling/sampler.h"
#include "igpu/unique_fd.h"
#include "machine/interval_timer.h"
#include "run/gpu_unit.h"
#include "support/test_machine.h"

using namespace igpu;
using namespace igpu::sampling;
using namespace igpu::test;

namespace {

constexpr std::size_t kEnginesOfCard = 7;
constexpr std::size_t kWords = 3 + kEnginesOfCard;

UniqueFd open_file(const std::string& path) { return UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)); }

// A perf group whose reading is one system call. Its counts advance with every reading.
class GroupInFile final : public PerfEvents {
 public:
  explicit GroupInFile(std::string path) : path_(std::move(path)) {}
  Reading<std::unique_ptr<PerfEvent>> open(const PerfEventConfig&, int, PerfEvent*) override {
    return std::unique_ptr<PerfEvent>(std::make_unique<Event>(open_file(path_)));
  }

 private:
  struct Event final : PerfEvent {
    explicit Event(UniqueFd opened) : fd(std::move(opened)) {}
    Reading<std::span<const std::uint64_t>> read(std::span<std::uint64_t> words) override {
      if (::pread(fd.get(), words.data(), kWords * sizeof(std::uint64_t), 0) < 0) std::abort();
      ++reads;
      words[0] = kEnginesOfCard;
      words[1] = words[2] = reads * 100'000'000;
      for (std::size_t i = 3; i < kWords; ++i) words[i] = reads * 60'000'000;
      return std::span<const std::uint64_t>(words.first(kWords));
    }
    UniqueFd fd;
    std::uint64_t reads = 0;
  };
  const std::string path_;
};

struct Awake final : GpuAccess {
  Awake(const Directory& sys, const std::string& pci_path) : watch(sys, pci_path) {}
  PowerStatus power_status() override { return watch.power_status(); }
  bool pmu_is_open() const override { return true; }
  Absent pmu_closed_because() const override { return {}; }
  bool gone() const override { return false; }
  PowerWatch watch;
};

// Share of a processor that a thread uses which calls this so many times, so often.
template <class F>
double share_of_thread(int ticks, Nanoseconds interval, F&& call) {
  double share = 0;
  std::thread([&] {
    TickTimer timer(interval);
    timespec begin{};
    timespec end{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    for (int i = 0; i < ticks; ++i) {
      (void)timer.wait();
      call();
    }
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
    const double used =
        static_cast<double>(end.tv_sec - begin.tv_sec) + static_cast<double>(end.tv_nsec - begin.tv_nsec) / 1e9;
    share = used / (ticks * to_seconds(interval).value);
  }).join();
  return share;
}

// Nanoseconds of the fastest round's call.
template <class F>
double best(int rounds, int calls, F&& call) {
  double fastest = 1e300;
  for (int round = 0; round < rounds; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; ++i) call();
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
    fastest = std::min(fastest, took.count() / calls);
  }
  return fastest;
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 1000;
  constexpr int kCalls = 50;  // few: on a busy machine some rounds are then undisturbed
  TestMachine m;
  const std::string device = "devices/pci0000:00/0000:03:00.0/";
  const std::string pmu = "bus/event_source/devices/i915_0000_03_00.0/";
  m.tree.write("sys/" + pmu + "type", "17\n");
  m.tree.write("sys/" + pmu + "cpumask", "0\n");
  m.tree.write("sys/" + pmu + "format/i915_eventid", "config:0-20\n");
  for (const char* const engine : {"rcs0", "bcs0", "vcs0", "vcs1", "vecs0", "vecs1", "ccs0"})
    m.tree.write("sys/" + pmu + "events/" + engine + "-busy", "config=0x2000\n");
  const std::string gt = device + "drm/card0/gt/gt0/";
  m.tree.write("sys/" + gt + "rps_act_freq_mhz", "1300\n");
  m.tree.write("sys/" + gt + "throttle_reason_status", "0\n");
  for (const char* const reason : {"pl1", "pl2", "pl4", "prochot", "ratl", "thermal", "vr_tdc", "vr_thermalert"})
    m.tree.write("sys/" + gt + "throttle_reason_" + reason, "0\n");
  m.tree.write("sys/" + device + "hwmon/hwmon2/name", "i915\n");
  m.tree.write("sys/" + device + "hwmon/hwmon2/energy1_input", "1000000\n");
  m.tree.write("sys/" + device + "power/runtime_status", "active\n");
  m.tree.write("sys/" + device + "power/runtime_usage", "1\n");
  m.tree.write("sys/group", std::string(kWords * sizeof(std::uint64_t), '\0'));

  const auto path = [&m](const std::string& file) { return m.tree.path("sys/" + file); };
  GroupInFile perf(path("group"));
  Machine real = m.machine();
  const auto clock = system_clock();
  const auto sys = open_root(m.tree.path("sys"));
  Machine machine{*sys, real.proc, real.dev, perf, real.drm, *clock, real.privileges, real.names};

  const auto before = mallinfo2().uordblks;
  Sampler sampler(machine, {});
  Gpu gpu;
  gpu.address = "0000:03:00.0";
  gpu.pci_path = "devices/pci0000:00/0000:03:00.0";
  gpu.card = "card0";
  gpu.driver = Driver::i915;
  gpu.kind = GpuKind::discrete;
  sampler.follow({{gpu, std::make_shared<Awake>(*sys, gpu.pci_path)}});
  sampler.tick(1);
  for (const char* const client : {"prometheus", "grafana"}) sampler.take_window(client, [](const auto&) {});
  sampler.tick(1);
  std::size_t sampled = 0;
  sampler.take_window("check", [&](const Sampler::WindowView& window) {
    for (const Extremes& engine : window.engines) sampled += is_value(engine.most);
  });
  if (sampled != kEnginesOfCard) {
    std::printf("only %zu engines are sampled\n", sampled);
    return 1;
  }
  const auto memory = mallinfo2().uordblks - before;

  const UniqueFd group = open_file(path("group"));
  const UniqueFd status = open_file(path(device + "power/runtime_status"));
  const UniqueFd users = open_file(path(device + "power/runtime_usage"));
  const UniqueFd frequency = open_file(path(gt + "rps_act_freq_mhz"));
  const UniqueFd throttle = open_file(path(gt + "throttle_reason_status"));
  const UniqueFd energy = open_file(path(device + "hwmon/hwmon2/energy1_input"));
  auto energy_read = std::chrono::steady_clock::now();
  const auto bare = [&] {
    char buffer[kWords * sizeof(std::uint64_t)];
    ssize_t sum = ::pread(group.get(), buffer, sizeof buffer, 0);
    const auto read_linked = [&](const UniqueFd& file) {
      struct ::stat facts {};
      if (::fstat(file.get(), &facts) == 0) sum += ::pread(file.get(), buffer, sizeof buffer, 0);
    };
    for (const UniqueFd* file : {&status, &users, &frequency, &throttle}) read_linked(*file);
    if (const auto now = std::chrono::steady_clock::now(); now - energy_read >= kPowerWindow) {
      energy_read = now;
      read_linked(energy);
    }
    if (sum <= 0) std::abort();
  };

  // In turn, so that both see the same machine.
  double bare_time = 1e300;
  double tick_time = 1e300;
  std::size_t grown = 0;
  for (int round = 0; round < rounds; ++round) {
    bare_time = std::min(bare_time, best(1, kCalls, bare));
    const auto heap = mallinfo2().uordblks;
    tick_time = std::min(tick_time, best(1, kCalls, [&] { sampler.tick(1); }));
    if (round > 0) grown += mallinfo2().uordblks - heap;
  }
  std::printf("bare calls %.0f ns, tick %.0f ns: %.2f times\n", bare_time, tick_time, tick_time / bare_time);
  // With the wake-ups of the thread, and with the energy, which both sides read at most four times a second.
  struct Rate {
    int hertz, ticks;
  };
  for (const auto& [hertz, ticks] : {Rate{100, 300}, Rate{10, 100}}) {
    const Nanoseconds interval = Nanoseconds(std::chrono::seconds(1)) / hertz;
    double bare_share = 1;
    double tick_share = 1;
    for (int i = 0; i < (rounds > 1 ? 3 : 0); ++i) {
      bare_share = std::min(bare_share, share_of_thread(ticks, interval, bare));
      tick_share = std::min(tick_share, share_of_thread(ticks, interval, [&] { sampler.tick(1); }));
    }
    std::printf("a thread at %d Hz: bare calls %.3f %% of a processor, ticks %.3f %%: %.2f times\n", hertz,
                bare_share * 100, tick_share * 100, tick_share / bare_share);
  }
  std::printf("memory %zu bytes with two clients; the heap grew by %zu bytes over all ticks\n", memory, grown);
  return 0;
}
