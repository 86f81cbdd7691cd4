// SPDX-License-Identifier: Apache-2.0
//
// A scrape of a whole machine beside the bare system calls that it makes, both on the same tree in memory: an Arc A380
// on i915 as captured, with a PMU whose type is the kernel's software PMU (so that a group is opened and read for
// real), fifty processes, two of them with DRM clients. Once whole and once without the walk over the processes, which
// would hide what the rest costs; then the same for read() of the library, and what its callback at 10 Hz takes of a
// processor; and a scrape of a captured card with four virtual functions beside one of the same card without, which has
// fewer lines. Prints the ratios, the calls, and the memory after 1,000 scrapes.
//
// A ratio to a few quick calls says as much about a machine's kernel as about us. Where the walk is left out, the aim
// is for what we add to the calls, beside the time in which prometheus-cpp writes the page. On all CPUs a scrape costs
// what waking another one does, so that is only printed.
//
//   scrape_bench            all of it
//   scrape_bench --list     and every system call, one a line
//   scrape_bench --check    exit status 1 if an aim is missed
//   scrape_bench --callback   only what the callback takes
//   scrape_bench --functions   only what virtual functions take
//   scrape_bench --only-functions VFS N   N scrapes of a card with so many of them, whose engines work
//   scrape_bench --only N   N scrapes without the walk and nothing else, for a profiler
//   scrape_bench --only-read N   the same for read() of the library
#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "igpu/collectable.h"
#include "igpu/gpu.h"
#include "igpu/log.h"
#include "igpu/monitor.h"
#include "igpu/sampling.h"
#include "support/captured_machine.h"
#include "support/machine_tree.h"
#include "support/proc_tree.h"
#include "support/run_program.h"
#include "support/system_calls.h"
#include "view/format/text_writer.h"

using namespace igpu;
using namespace igpu::test;

namespace {

constexpr std::string_view kBegin = "the scrape begins";
constexpr std::string_view kEnd = "the scrape has ended";
constexpr int kWarmUp = 10;
constexpr double kRatioAim = 2;  // of a whole scrape to its system calls
constexpr double kScrapeAdds = 0.6, kReadAdds = 0.4;

class NoLog final : public Log {
 public:
  void write(LogLevel, std::string_view, std::initializer_list<LogField>) override {}
};

void build_machine(MachineTree& tree) {
  tree.lay_out("a380-i915");
  const std::string pmu = "sys/devices/i915_0000_0b_00.0/";
  tree.write(pmu + "type", "1\n");
  tree.write(pmu + "cpumask", "0\n");
  // Software events that may be counted for a whole CPU; which one does not matter here.
  // The same for the same name, as long numbers cost more to write than short ones.
  std::set<std::string> names;
  for (const auto& file : std::filesystem::directory_iterator(tree.path(pmu + "events")))
    names.insert(file.path().filename());
  int number = 0;
  for (const std::string& name : names)
    if (name.find('.') == std::string::npos)
      tree.write(pmu + "events/" + name, "config=" + std::to_string(number++ % 10) + "\n");
  for (std::uint32_t pid = 1; pid <= 50; ++pid) {
    add_process(tree, pid, {.comm = "process" + std::to_string(pid)});
    for (std::uint32_t fd = 0; fd < 5; ++fd)
      add_file(tree, pid, fd, "pos:\t0\nflags:\t02\nmnt_id:\t27\nino:\t1\n", "/dev/null");
  }
  for (std::uint32_t pid = 20; pid <= 21; ++pid) {
    add_file(
        tree, pid, 7,
        i915_block("0000:0b:00.0", pid,
                   "drm-engine-render:\t1234567890 ns\ndrm-engine-video:\t987654321 ns\ndrm-engine-capacity-video:\t2\n"
                   "drm-total-local0:\t524288 KiB\ndrm-resident-local0:\t262144 KiB\n"),
        "/dev/dri/renderD128");
  }
}

constexpr std::string_view kWithoutWalk = "without-walk";
constexpr std::string_view kRead = "read";  // of the library, without processes

MonitorOptions options_for(const std::string& root, std::string_view variant) {
  MonitorOptions options;
  if (variant == kWithoutWalk) options.collectors["fdinfo"] = false;
  options.sysfs_root = root + "/sys";
  options.procfs_root = root + "/proc";
  options.devfs_root = root + "/dev";
  options.min_window = std::chrono::milliseconds(1);
  return options;
}

OpenGpu open_gpu(const std::string& root) {
  GpuOptions options;
  options.processes = false;
  options.sysfs_root = root + "/sys";
  options.procfs_root = root + "/proc";
  options.devfs_root = root + "/dev";
  options.min_window = std::chrono::milliseconds(1);
  return Gpu::detect(options);
}

using Families = std::vector<prometheus::MetricFamily>;

// One scrape as /metrics makes it, without HTTP; or one read() of the GPU.
class Scraper {
 public:
  Scraper(const std::string& root, std::string_view variant) {
    if (variant == kRead)
      gpu_.emplace(open_gpu(root));
    else
      monitor_.emplace(options_for(root, variant), log_);
  }
  void scrape() {
    if (gpu_) {
      static_cast<void>(gpu_->read());
      return;
    }
    const auto result = monitor_->scrape({});
    text_.clear();
    exporter::write_prometheus_text(PageView(result->lists()), text_);
  }
  std::string& text() { return text_; }
  Families families() { return to_prometheus_families(PageView(monitor_->scrape({})->lists())); }

 private:
  NoLog log_;
  std::optional<Monitor> monitor_;
  std::optional<OpenGpu> gpu_;
  std::string text_;
};

struct Cost {
  double wall_us, cpu_us;
};

double cpu_us() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto us = [](const timeval& t) { return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_usec); };
  return us(usage.ru_utime) + us(usage.ru_stime);
}

double us_of(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) / 1e3;
}
double process_cpu_us() { return us_of(CLOCK_PROCESS_CPUTIME_ID); }
double thread_cpu_us() { return us_of(CLOCK_THREAD_CPUTIME_ID); }

template <class F>
Cost cost_of(int rounds, F&& call) {
  std::vector<double> walls;
  const double cpu = cpu_us();
  for (int i = 0; i < rounds; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    call();
    walls.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count());
  }
  const double cpu_each = (cpu_us() - cpu) / rounds;
  std::nth_element(walls.begin(), walls.begin() + rounds / 2, walls.end());
  return {walls[static_cast<std::size_t>(rounds / 2)], cpu_each};
}

long resident_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) return std::strtol(line.c_str() + 6, nullptr, 10);
  }
  return -1;
}

int scrape_once_for_strace(const std::string& root, std::string_view variant) {
  Scraper scraper(root, variant);
  for (int i = 0; i < kWarmUp; ++i) scraper.scrape();
  SystemCalls::mark(kBegin);
  scraper.scrape();
  SystemCalls::mark(kEnd);
  return 0;
}

int scrape_a_thousand_times(const std::string& root) {
  Scraper scraper(root, {});
  for (int i = 0; i < 1000; ++i) scraper.scrape();
  std::printf("%ld", resident_kib());
  return 0;
}

void print_counts(const std::map<std::string, std::size_t>& counts) {
  for (const auto& [name, count] : counts) std::printf("  %7zu %s\n", count, name.c_str());
}

// The middle one, and the quarters on both sides of it.
struct Spread {
  double low, median, high;
};
Spread spread_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return {values[values.size() / 4], values[values.size() / 2], values[values.size() - 1 - values.size() / 4]};
}

// All threads that are made from here on share the CPU that this one is on: a scrape is handed from thread to thread,
// and what waking another CPU costs depends on the machine more than on us.
class Pinned {
 public:
  explicit Pinned(bool wanted) {
    sched_getaffinity(0, sizeof before_, &before_);
    if (!wanted) return;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<std::size_t>(sched_getcpu()), &one);
    sched_setaffinity(0, sizeof one, &one);
  }
  ~Pinned() { sched_setaffinity(0, sizeof before_, &before_); }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;

 private:
  cpu_set_t before_{};
};

SystemCalls traced_scrape(const std::string& self, const std::string& root, std::string_view variant) {
  const std::string log = root + "/trace";
  const ProgramOutcome traced =
      run_program({"strace", "-f", "-y", "-s", "64", "-o", log, self, "--traced", root, std::string(variant)});
  if (traced.status != 0) throw std::runtime_error("strace: " + traced.output);
  std::ifstream file(log);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return SystemCalls(text, kBegin, kEnd);
}

struct Measured {
  double ratio;  // of CPU time, to the bare system calls
  double added;  // CPU time beside these calls, relative to prometheus-cpp's for the text of a page
};

// In turns, each of them right after the other: what the machine does beside meets all, and the ratio of a turn is one
// of its moment. Their median says what is usual; no side may choose its best moment. The median ratios.
Measured measure(SystemCalls& calls, const std::string& root, std::string_view variant, const Families& page,
                 bool one_cpu) {
  const Pinned pinned(one_cpu);
  Scraper scraper(root, variant);
  for (int i = 0; i < kWarmUp; ++i) scraper.scrape();
  calls.replay();
  constexpr int kTurns = 41, kRounds = 50;
  std::vector<double> wall_ratios, cpu_ratios, ours_us, bare_us, added_ratios, theirs_us;
  const prometheus::TextSerializer their_serializer;
  for (int i = 0; i < kTurns; ++i) {
    const bool ours_first = i % 2 == 0;
    Cost ours{}, bare{};
    const Cost theirs = cost_of(kRounds, [&] { (void)their_serializer.Serialize(page); });
    for (const bool our_turn : {ours_first, !ours_first}) {
      if (our_turn) {
        ours = cost_of(kRounds, [&] { scraper.scrape(); });
      } else {
        bare = cost_of(kRounds, [&] { calls.replay(); });
      }
    }
    wall_ratios.push_back(ours.wall_us / bare.wall_us);
    cpu_ratios.push_back(ours.cpu_us / bare.cpu_us);
    ours_us.push_back(ours.cpu_us);
    bare_us.push_back(bare.cpu_us);
    added_ratios.push_back((ours.cpu_us - bare.cpu_us) / theirs.cpu_us);
    theirs_us.push_back(theirs.cpu_us);
  }
  const Spread cpu = spread_of(cpu_ratios), wall = spread_of(wall_ratios);
  std::printf(
      "  %-13s %s %6.1f us CPU, bare system calls %6.1f us CPU; ratio %.2f (half of the turns %.2f to "
      "%.2f); wall %.2f\n",
      one_cpu ? "on one CPU:" : "on all CPUs:", variant == kRead ? "read()" : "scrape and text",
      spread_of(ours_us).median, spread_of(bare_us).median, cpu.median, cpu.low, cpu.high, wall.median);
  const Spread added = spread_of(added_ratios);
  std::printf(
      "                added to these calls: %.2f (%.2f to %.2f) of the %.1f us in which prometheus-cpp writes a "
      "page\n",
      added.median, added.low, added.high, spread_of(theirs_us).median);
  return {cpu.median, added.median};
}

Measured compare(const std::string& self, const std::string& root, std::string_view variant, const Families& page,
                 bool list) {
  SystemCalls calls = traced_scrape(self, root, variant);
  if (list) {
    for (const std::string& line : calls.lines()) std::printf("%s\n", line.c_str());
  }
  Scraper scraper(root, variant);
  scraper.scrape();
  calls.prepare();
  const std::size_t total = std::accumulate(calls.counts().begin(), calls.counts().end(), std::size_t{0},
                                            [](std::size_t sum, const auto& c) { return sum + c.second; });
  const char* name = variant.empty()    ? "whole scrape"
                     : variant == kRead ? "read() of the library, without processes"
                                        : "without the walk over the processes";
  std::printf("%s: %zu system calls\n", name, total);
  print_counts(calls.counts());
  std::printf("  of these not made by the bare run:\n");
  print_counts(calls.not_replayed());
  const auto lines = std::count(scraper.text().begin(), scraper.text().end(), '\n');
  if (variant != kRead) std::printf("  page of %zu bytes, %td lines\n", scraper.text().size(), lines);
  const Measured one = measure(calls, root, variant, page, true);
  (void)measure(calls, root, variant, page, false);
  std::printf("\n");
  return one;
}

// A card of the host's, and the machines that have a virtual function of it each: as many processes either way.
class CardOfHost {
 public:
  explicit CardOfHost(unsigned functions) : machine_(std::make_shared<CapturedMachine>(capture())) {
    MachineTree& tree = machine_->tree();
    const std::string parent = "sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:01.0/";
    const std::string folder = parent + std::string(kCard) + "/";
    tree.write(folder + "sriov_totalvfs", "24\n");
    tree.write(folder + "sriov_numvfs", std::to_string(functions) + "\n");
    for (unsigned vf = 1; vf <= 4; ++vf) {
      const std::string address = "0000:03:00." + std::to_string(vf);
      const std::uint32_t pid = 6000 + vf;
      add_process(tree, pid,
                  {.comm = "qemu-system-x86",
                   .cgroup = "0::/machine.slice/machine-qemu\\x2d" + std::to_string(vf) + "\\x2dnews.scope\n"});
      add_file(tree, pid, 29, "pos:\t0\nvfio-device-syspath: /sys/devices/pci0000:00/" + address + "\n",
               "anon_inode:[vfio-device]");
      if (vf > functions) continue;
      const std::string below = parent + address + "/";
      tree.write(below + "vendor", "0x8086\n");
      tree.link(below + "physfn", "../" + std::string(kCard));
      tree.link(below + "driver", "../../../../bus/pci/drivers/xe-vfio-pci");
      tree.link(folder + "virtfn" + std::to_string(vf - 1), "../" + address);
      for (const char* file : {"exec_quantum_ms", "preempt_timeout_us", "vram_quota"})
        tree.write(folder + "sriov_admin/vf" + std::to_string(vf) + "/profile/" + file, "20\n");
    }
    MonitorOptions options;
    options.min_window = std::chrono::milliseconds(1);
    monitor_ = make_monitor(machine_, options, log_);
  }
  // A second passes, in which the engines work or stand, and a scrape is made. Its CPU time in us.
  double scrape(bool working) {
    if (working)
      machine_->work_engines(1);
    else
      machine_->stand(std::chrono::seconds(1));
    const double before = process_cpu_us();
    const auto result = monitor_->scrape({});
    text_.clear();
    exporter::write_prometheus_text(PageView(result->lists()), text_);
    return process_cpu_us() - before;
  }
  bool has(std::string_view series) const { return text_.find(series) != std::string::npos; }
  double lines() const { return static_cast<double>(std::count(text_.begin(), text_.end(), '\n')); }

 private:
  static constexpr std::string_view kCard = "0000:03:00.0";
  static const Capture& capture() {
    for (const Capture& one : captures())
      if (one.name == "b580-asrock-fedora44") return one;
    throw std::runtime_error("no machine with a card");
  }
  NoLog log_;
  std::shared_ptr<CapturedMachine> machine_;
  std::unique_ptr<Monitor> monitor_;
  std::string text_;
};

// Real files; perf events and ioctls are the test's. A card whose engines stand has its PMU closed after a minute,
// which leaves out what its functions cost most: those whose engines work are measured as well. The median ratio of CPU
// time, relative to that of the pages' lines: at most 1 if a function's cost no more than the card's own.
double cost_of_functions(bool working) {
  const Pinned pinned(true);
  CardOfHost with(4), without(0);
  // Until the PMU of the card that stands is closed.
  constexpr int kUntilIdle = 70;
  for (int i = 0; i < kUntilIdle; ++i) {
    (void)with.scrape(working);
    (void)without.scrape(working);
  }
  for (const char* series :
       {"intel_gpu_vf_engine_busy_seconds_total{", "workload=\"news\"", "intel_gpu_vf_vram_quota_bytes{"})
    if (!with.has(series)) throw std::runtime_error(std::string("no ") + series);
  constexpr int kTurns = 41, kRounds = 25;
  std::vector<double> ratios, with_us, without_us;
  for (int i = 0; i < kTurns; ++i) {
    double more = 0, less = 0;
    for (const bool turn : {i % 2 == 0, i % 2 != 0})
      for (int round = 0; round < kRounds; ++round) (turn ? more : less) += (turn ? with : without).scrape(working);
    ratios.push_back(more / less);
    with_us.push_back(more / kRounds);
    without_us.push_back(less / kRounds);
  }
  if (working && !with.has("intel_gpu_vf_engine_busy_ratio{")) throw std::runtime_error("the PMU is closed");
  const Spread ratio = spread_of(ratios);
  const double lines = with.lines() / without.lines();
  std::printf(
      "scrape of a card with four virtual functions, whose engines %s: %.1f us CPU, without: %.1f us; ratio %.2f (half "
      "of the turns %.2f to %.2f; aim: at most that of the lines, %.2f)\n",
      working ? "work" : "stand", spread_of(with_us).median, spread_of(without_us).median, ratio.median, ratio.low,
      ratio.high, lines);
  return ratio.median / lines;
}

// CPU time of a process that samples at 10 Hz for a minute, as a share of one processor, once the GPU is open. Between
// two callbacks another thread makes the bare system calls of a reading: whatever the machine does beside, both of them
// wake up as rarely and find caches that others have filled.
double share_of_callback(const std::string& self, const std::string& root) {
  constexpr int kCalls = 600;
  constexpr auto kInterval = std::chrono::milliseconds(100);
  SystemCalls bare_calls = traced_scrape(self, root, kRead);
  bare_calls.prepare();
  double all_before = 0, bare_us = 0;
  std::chrono::steady_clock::time_point begin, end;
  const auto make_bare_calls = [&](std::chrono::steady_clock::time_point due) {
    std::this_thread::sleep_until(due);
    bare_us = -thread_cpu_us();
    for (int call = 0; call < kCalls; ++call) {
      bare_calls.replay();
      due += kInterval;
      std::this_thread::sleep_until(due);
    }
    bare_us += thread_cpu_us();
  };
  std::jthread bare;
  int calls = 0;
  std::stop_source enough;
  const auto callback = [&](const Snapshot&) {
    if (calls == 0) {
      begin = std::chrono::steady_clock::now();
      all_before = cpu_us();
      bare = std::jthread(make_bare_calls, begin + kInterval / 2);
    }
    end = std::chrono::steady_clock::now();
    if (calls++ == kCalls) enough.request_stop();
  };
  Sampler sampler(open_gpu(root), kInterval, callback, enough.get_token());
  sampler.wait();
  bare.join();
  const double used = cpu_us() - all_before - bare_us;
  const double share = used / std::chrono::duration<double, std::micro>(end - begin).count();
  std::printf(
      "callback at 10 Hz: %.3f s of CPU time for %d readings, %.3f %% of a processor, %llu missed; "
      "bare system calls at 10 Hz: %.3f s; ratio %.2f\n",
      used / 1e6, kCalls, 100 * share, static_cast<unsigned long long>(sampler.missed()), bare_us / 1e6,
      used / bare_us);
  return share;
}

// For a profiler: scrapes and nothing else.
int only_scrape(const std::string& root, int rounds, std::string_view variant) {
  Scraper scraper(root, variant);
  for (int i = 0; i < rounds; ++i) scraper.scrape();
  return 0;
}

int run_all(const std::string& self, bool list, bool check) {
  setenv("TMPDIR", "/dev/shm", 1);  // no disk in the way
  MachineTree tree;
  build_machine(tree);
  const std::string root = tree.root().string();
  const Families page = Scraper(root, kWithoutWalk).families();
  std::printf("aims, on one CPU: a ratio of at most %.0f whole; added at most %.2f without the walk, %.2f by read()\n",
              kRatioAim, kScrapeAdds, kReadAdds);
  const double whole = compare(self, root, {}, page, list).ratio;
  const double scrape = compare(self, root, kWithoutWalk, page, list).added;
  const double read = compare(self, root, kRead, page, list).added;
  const double callback = share_of_callback(self, root);
  const double functions = std::max(cost_of_functions(false), cost_of_functions(true));
  const ProgramOutcome memory = run_program({self, "--memory", root});
  const double mib = std::strtod(memory.output.c_str(), nullptr) / 1024;
  std::printf("resident after 1,000 scrapes: %.1f MiB (aim: at most 10)\n", mib);
  const bool met = whole <= kRatioAim && scrape <= kScrapeAdds && read <= kReadAdds && callback <= 0.006 &&
                   functions <= 1 && mib <= 10;
  return check && !met ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() == 3 && arguments[0] == "--traced") return scrape_once_for_strace(arguments[1], arguments[2]);
  if (arguments.size() == 2 && arguments[0] == "--memory") return scrape_a_thousand_times(arguments[1]);
  if (arguments.size() == 2 && arguments[0] == "--only") {
    MachineTree tree;
    build_machine(tree);
    return only_scrape(tree.root().string(), std::stoi(arguments[1]), kWithoutWalk);
  }
  if (arguments.size() == 2 && arguments[0] == "--only-read") {
    MachineTree tree;
    build_machine(tree);
    return only_scrape(tree.root().string(), std::stoi(arguments[1]), kRead);
  }
  if (arguments.size() == 3 && arguments[0] == "--only-functions") {
    setenv("TMPDIR", "/dev/shm", 1);
    CardOfHost card(static_cast<unsigned>(std::stoul(arguments[1])));
    for (int i = 0; i < std::stoi(arguments[2]); ++i) (void)card.scrape(true);
    return 0;
  }
  if (arguments.size() == 1 && arguments[0] == "--functions") {
    setenv("TMPDIR", "/dev/shm", 1);
    (void)cost_of_functions(false);
    (void)cost_of_functions(true);
    return 0;
  }
  if (arguments.size() == 1 && arguments[0] == "--callback") {
    setenv("TMPDIR", "/dev/shm", 1);
    MachineTree tree;
    build_machine(tree);
    (void)share_of_callback(std::filesystem::read_symlink("/proc/self/exe"), tree.root().string());
    return 0;
  }
  const auto asked = [&](std::string_view flag) {
    return std::find(arguments.begin(), arguments.end(), flag) != arguments.end();
  };
  return run_all(std::filesystem::read_symlink("/proc/self/exe"), asked("--list"), asked("--check"));
}
