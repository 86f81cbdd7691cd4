// SPDX-License-Identifier: Apache-2.0
// Workloads of real processes: thousands that sleep, thousands that are short, real users, real control groups, hostile
// names. Only what a GPU would show of its clients is modelled, by files that the processes really hold.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <thread>

#include "collector/collectors.h"
#include "igpu/unique_fd.h"
#include "kernel/clients/client_ledger.h"
#include "kernel/clients/client_walk.h"
#include "kernel/clients/workload_naming.h"
#include "kernel/control_groups.h"
#include "kernel/short_process.h"
#include "support/exposition_parser.h"
#include "support/fixed_rules.h"
#include "support/modelled_clients.h"
#include "support/paths.h"
#include "support/proc_tree.h"
#include "support/real_machine.h"
#include "support/sanitizers.h"
#include "support/scratch_folder.h"
#include "support/test_machine.h"
#include "view/format/text_writer.h"

using namespace igpu;
using namespace igpu::test;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

const std::string kGpu = "0000:00:02.0";
// With sanitizers, which find errors of the program, fewer processes are enough.
#ifdef IGPU_SANITIZED
constexpr std::size_t kSleeping = 500;
constexpr int kShort = 2000;
constexpr double kMostGrowthMib = 64;  // memory that was freed is kept, to find its use
#else
constexpr std::size_t kSleeping = 2000;
constexpr int kShort = 10'000;
constexpr double kMostGrowthMib = 8;
#endif
constexpr const char* kBusy = "intel_gpu_workload_engine_busy_seconds_total";

// Clients as files, the processes that open them, and scans of the real /proc.
class Scene {
 public:
  explicit Scene(MachineGiven given = {}) {
    given.min_window = 1ms;
    workloads_ = make_collector(workloads_collector, machine_, log_, given);
  }

  // The file behind a client that has used the engine for so long.
  std::string client(std::uint64_t id, int seconds) {
    const std::string folder = folder_.path(std::to_string(id));
    fs::create_directories(folder);
    return folder_.write(std::to_string(id) + "/renderD128",
                         i915_block(kGpu, id, "drm-engine-video:\t" + std::to_string(seconds) + "000000000 ns\n"));
  }
  // The same open file has another content from now on.
  void work(std::uint64_t id, int seconds) {
    std::ofstream(folder_.path(std::to_string(id) + "/renderD128"))
        << i915_block(kGpu, id, "drm-engine-video:\t" + std::to_string(seconds) + "000000000 ns\n");
  }
  void scan() {
    auto found = walk_.find({});
    REQUIRE(found);
    ledgers_.count(*found, {}, {});
    snapshot = *found;
    sink_.clear();
    TestMachinePass pass(machine_.clock);
    pass.snapshot = *found;
    workloads_->collect(pass, sink_);
    CHECK(sink_.failures().empty());
  }
  // Scans until what the kernel does in its own time has been done.
  template <class Condition>
  bool scans_until(Condition condition) {
    for (const auto end = std::chrono::steady_clock::now() + 60s; std::chrono::steady_clock::now() < end;) {
      scan();
      if (condition(page())) return true;
      std::this_thread::sleep_for(10ms);  // the processes need the processors, too
    }
    return false;
  }
  Exposition page() const {
    std::string text;
    const SampleList* const list = &sink_.samples();
    exporter::write_prometheus_text(PageView({&list, 1}), text);
    return parse_prometheus_text(text);
  }
  std::string folder() const { return folder_.path(""); }

  ClientSnapshot snapshot;

 private:
  ScratchFolder folder_;
  RealMachine real_;
  std::string root_ = folder_.path("").substr(0, folder_.path("").size() - 1);
  ModelledClients proc_{open_root("/proc"), root_};
  Machine machine_{*real_.sys,   proc_,        *real_.dev,        *real_.perf,
                   *real_.nodes, *real_.clock, *real_.privileges, *real_.names};
  ClientWalk walk_{machine_, {.time = 60s}};
  ClientLedgers ledgers_;
  RecordingLog log_;
  std::unique_ptr<MachineCollector> workloads_;
  SampleSink sink_;
};

double sum_of(const Exposition& page, const char* metric) {
  double sum = 0;
  for (const auto* sample : page.find(metric)) sum += sample->value;
  return sum;
}

// A short_process that starts many others. It works until the end of its input.
class Script {
 public:
  explicit Script(std::vector<std::string> arguments) {
    std::array<int, 2> output{}, input{};
    REQUIRE(::pipe2(output.data(), O_CLOEXEC) == 0);
    REQUIRE(::pipe2(input.data(), O_CLOEXEC) == 0);
    reader_ = UniqueFd(output[0]);
    keeps_it_waiting_ = UniqueFd(input[1]);
    const UniqueFd writer(output[1]), waits(input[0]);
    process_.emplace(std::move(arguments), test_program("short_process"), writer.get(), waits.get());
  }
  // `start`: COUNT processes, each EACHth with a file of the folder.
  static Script start(int count, const std::string& folder, int each) {
    return Script({"start", std::to_string(count), folder, std::to_string(each)});
  }
  std::uint32_t pid() const { return process_->pid(); }
  // Waits a little for it; fails the test if it takes too long.
  bool has_reported() const {
    REQUIRE(std::chrono::steady_clock::now() < deadline_);
    return can_read(50ms);
  }
  // What the kernel charged for all of them.
  double seconds() const {
    std::array<char, 64> text{};
    REQUIRE(::read(reader_.get(), text.data(), text.size() - 1) > 0);
    return static_cast<double>(std::atol(text.data())) * 1e-6;
  }
  // Waits until it has ended its processes.
  void end() {
    keeps_it_waiting_.reset();
    CHECK(can_read(60s));  // the end of its output
    process_.reset();
  }

 private:
  bool can_read(std::chrono::milliseconds timeout) const {
    pollfd output{reader_.get(), POLLIN, 0};
    return ::poll(&output, 1, static_cast<int>(timeout.count())) == 1;
  }

  UniqueFd reader_, keeps_it_waiting_;
  std::optional<ShortProcess> process_;
  std::chrono::steady_clock::time_point deadline_ = std::chrono::steady_clock::now() + 100s;
};

std::size_t open_files() {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator("/proc/self/fd"), {}));
}

double resident_mib() {
  std::ifstream file("/proc/self/statm");
  double size = 0, resident = 0;
  file >> size >> resident;
  return resident * 4096 / (1 << 20);
}

}  // namespace

TEST_SUITE_BEGIN("kernel: workloads of real processes");

TEST_CASE("thousands of sleeping processes, fifty with clients: all are found, and nothing is left of them") {
  constexpr std::size_t kGroups = 10;
  constexpr std::uint64_t kClients = 50;
  Scene scene({.options = {{"workload.by", {"comm"}}}});
  scene.scan();
  const std::size_t files = open_files();
  double memory = 0;
  std::size_t series = 0;
  for (int round = 0; round < 2; ++round) {
    {
      // Fewer at first: what is allocated once for all rounds.
      const std::size_t count = round == 0 ? kSleeping / 4 : kSleeping;
      const std::uint64_t first = static_cast<std::uint64_t>(round) * kClients;
      for (std::uint64_t client = first; client < first + kClients; ++client) scene.client(client, 0);
      Script crowd({"crowd", std::to_string(count), scene.folder(), std::to_string(count / kClients),
                    std::to_string(first), std::to_string(kGroups)});
      CHECK(scene.scans_until([&](const Exposition& page) {
        return scene.snapshot.pids.size() >= count && sum_of(page, "intel_gpu_workload_clients") == kClients &&
               page.find("intel_gpu_workload_info").size() == kGroups;  // each has taken its name
      }));
      for (std::uint64_t client = first; client < first + kClients; ++client) scene.work(client, 0);
      scene.scan();
      const double before = sum_of(scene.page(), kBusy);
      for (std::uint64_t client = first; client < first + kClients; ++client) scene.work(client, 3);
      scene.scan();
      CHECK(sum_of(scene.page(), kBusy) - before == 3 * kClients);
      CHECK(sum_of(scene.page(), "intel_gpu_workload_processes") == kClients);
      crowd.end();
    }
    scene.scan();
    CHECK(sum_of(scene.page(), kBusy) == (round + 1) * 3.0 * kClients);
    CHECK(sum_of(scene.page(), "intel_gpu_workload_processes") == 0);
    CHECK(scene.page().find("intel_gpu_workload_info").size() == kGroups);
    CHECK(open_files() == files);
    const auto samples = scene.page().find(kBusy).size();
    if (round > 0) {
      CHECK(samples == series);
      CHECK(resident_mib() < memory + kMostGrowthMib);
    }
    memory = resident_mib();
    series = samples;
  }
}

TEST_CASE("thousands of short processes below a script cost what the kernel charges; files and memory stay flat") {
  constexpr int kEach = kShort / 10;
  const ScratchFolder folder;
  for (int id = 0; id < kShort / kEach; ++id) {
    fs::create_directories(folder.path(std::to_string(id)));
    folder.write(std::to_string(id) + "/renderD128", "");
  }
  const Script script = Script::start(kShort, folder.path(""), kEach);
  MachineGiven given;
  given.options["workload.tree"] = {"script=" + std::to_string(script.pid())};
  Scene scene(given);
  scene.scan();
  const std::size_t files = open_files();
  const double memory = resident_mib();
  do scene.scan();
  while (!script.has_reported());
  const double charged = script.seconds();
  scene.scan();
  const Exposition page = scene.page();
  // What was used before the first scan is not in it, and each process' time is cut to hundredths of a second.
  CHECK(charged > 0);
  CHECK(sum_of(page, "intel_gpu_workload_cpu_seconds_total") == doctest::Approx(charged).epsilon(0.1).scale(1));
  CHECK(page.value("intel_gpu_workload_processes", {{"workload", "script"}}) == 1);
  CHECK(page.find("intel_gpu_workload_info").size() == 1);
  CHECK(open_files() == files);
  CHECK(resident_mib() < memory + kMostGrowthMib);
}

TEST_CASE("short processes with clients and names of their own leave the groups bounded, and count once at most") {
  constexpr int kProcesses = 500, kEach = 5;
  MachineGiven given;
  given.options["workload.max"] = {"16"};
  given.options["workload.by"] = {"comm"};
  Scene scene(given);
  for (std::uint64_t id = 0; id < kProcesses / kEach; ++id) scene.client(id, 1);
  scene.scan();
  const Script script = Script::start(kProcesses, scene.folder(), kEach);
  do {
    scene.scan();
    CHECK(scene.page().find("intel_gpu_workload_started_total").size() <= 17);
  } while (!script.has_reported());
  scene.scan();
  const Exposition page = scene.page();
  CHECK(sum_of(page, "intel_gpu_workload_started_total") <= kProcesses / kEach);
  CHECK(sum_of(page, kBusy) <= kProcesses / kEach);
  CHECK(sum_of(page, "intel_gpu_workload_clients") == 0);
}

TEST_CASE("a process that changes its control group, and a group that is removed, lose nothing") {
  ControlGroups groups;
  if (!groups.available()) {
    MESSAGE("not checked: changes of control groups, which nobody may make here: " << groups.why_not());
    Scene scene;
    scene.scan();
    const ShortProcess process({"sleep", "user", scene.client(1, 0)});
    CHECK(scene.scans_until([](const Exposition& page) { return sum_of(page, "intel_gpu_workload_clients") == 1; }));
    return;
  }
  const std::string first = groups.make("system.slice/first.service");
  const std::string second = groups.make("system.slice/second.service");
  Scene scene;
  scene.scan();
  const ShortProcess process({"sleep", "user", scene.client(1, 0)});
  ControlGroups::move(first, process);
  CHECK(scene.scans_until([](const Exposition& page) {
    return page.value("intel_gpu_workload_clients", {{"workload", "first.service"}}) == 1;
  }));
  scene.work(1, 4);
  scene.scan();
  ControlGroups::move(second, process);
  ControlGroups::remove(first);
  scene.work(1, 9);
  scene.scan();
  const Exposition page = scene.page();
  CHECK(page.value(kBusy, {{"workload", "first.service"}}) == 4);
  CHECK(page.value(kBusy, {{"workload", "second.service"}}) == 5);
  CHECK(page.value("intel_gpu_workload_clients", {{"workload", "first.service"}}) == 0);
}

TEST_CASE("the clients of real users are found, and the workloads have their names") {
  std::map<std::string, double> expected;
  Scene scene({.options = {{"workload.by", {"user"}}}});
  scene.scan();
  std::vector<uid_t> users{::geteuid()};
  if (::geteuid() == 0)
    users = {0, 1, 2, 65534, 4'000'000'000};  // the last one has no name
  else
    MESSAGE("not checked: other users, whose processes only root can start");
  std::vector<ShortProcess> processes;
  std::uint64_t id = 0;
  fs::permissions(scene.folder(), fs::perms::all, fs::perm_options::add);
  for (const uid_t user : users) {
    const passwd* const entry = ::getpwuid(user);
    processes.emplace_back(
        std::vector<std::string>{"as", std::to_string(user), "sleep", "client", scene.client(++id, 0)});
    expected[entry == nullptr ? std::to_string(user) : entry->pw_name] += static_cast<double>(id);
  }
  CHECK(scene.scans_until([&](const Exposition& page) {
    return sum_of(page, "intel_gpu_workload_clients") == static_cast<double>(users.size());
  }));
  for (std::uint64_t client = 1; client <= id; ++client) scene.work(client, static_cast<int>(client));
  scene.scan();
  const Exposition page = scene.page();
  for (const auto& entry : expected) {
    const std::string& user = entry.first;
    CAPTURE(user);
    CHECK(page.value(kBusy, {{"workload", user}}) == entry.second);
    CHECK(page.value("intel_gpu_workload_info", {{"workload", user}, {"kind", "user"}}) == 1);
  }
}

TEST_CASE("hostile names of processes, programs and control groups are valid labels of bounded length") {
  ScratchFolder folder;
  // A program whose path is as long as a path can be: newlines, quotes, bytes that are no text.
  std::string long_path = folder.path("");
  UniqueFd at(::open(long_path.c_str(), O_PATH | O_CLOEXEC));
  const std::string part = "\xff\"\n\\" + std::string(196, 'x');
  while (long_path.size() + part.size() + 20 < 4096) {
    REQUIRE(::mkdirat(at.get(), part.c_str(), 0755) == 0);
    at = UniqueFd(::openat(at.get(), part.c_str(), O_PATH | O_CLOEXEC));
    REQUIRE(at.get() >= 0);
    long_path += part + "/";
  }
  const std::string program = long_path + "short_process";
  fs::copy_file(test_program("short_process"), program);
  REQUIRE(program.size() > 3800);

  MachineGiven given;
  given.rules = std::make_shared<FixedRules>(WorkloadRules{{.name = "exe {exe}", .exe = {folder.path("*")}}});
  Scene scene(given);
  scene.scan();
  ControlGroups groups;  // ends after its processes
  std::vector<std::unique_ptr<ShortProcess>> processes;
  std::uint64_t id = 0;
  const auto start = [&](const std::string& what, const std::string& name) -> ShortProcess& {
    processes.push_back(
        std::make_unique<ShortProcess>(std::vector<std::string>{"sleep", name, scene.client(++id, 0)}, what));
    return *processes.back();
  };
  start(program, "long path");
  for (const char* name : {"\n# HELP x", "a\"} 1", "\xc3\x28\xff\xfe", ") S 1 (", "other", "unattributed", "\\"})
    start(test_program("short_process"), name);
  std::size_t with_groups = 0;
  if (groups.available()) {
    // The kernel refuses a newline in a name; everything else may be in it.
    const std::string odd = "\"\xff\\" + std::string(240, 'y');
    std::string deep = odd;
    for (int i = 0; i < 13; ++i) deep += "/" + odd;
    for (const std::string& name : {odd + ".service", deep + "/z.service", std::string("system.slice/other.service")}) {
      ControlGroups::move(groups.make(name), start(test_program("short_process"), "in a group"));
      ++with_groups;
    }
  } else {
    MESSAGE("not checked: names of control groups, which nobody may make here: " << groups.why_not());
  }
  CHECK(scene.scans_until([&](const Exposition& page) {  // the parser refuses what is no page
    return sum_of(page, "intel_gpu_workload_clients") == static_cast<double>(id);
  }));
  for (std::uint64_t client = 1; client <= id; ++client) scene.work(client, 2);
  scene.scan();
  const Exposition page = scene.page();
  CHECK(sum_of(page, kBusy) == 2.0 * static_cast<double>(id));
  for (const auto* info : page.find("intel_gpu_workload_info")) {
    for (const auto& [name, value] : info->labels) CHECK(value.size() <= kLongestWorkloadName + 16);
    CHECK(info->label("workload") != "other");
    CHECK(info->label("workload") != "unattributed");
  }
  const auto by_rule = page.find("intel_gpu_workload_info", {{"kind", "rule"}});
  REQUIRE(by_rule.size() == 1);
  CHECK(by_rule[0]->label("workload").starts_with("exe /"));
  if (with_groups > 0) CHECK(page.find("intel_gpu_workload_info", {{"kind", "systemd_unit"}}).size() >= with_groups);
}

TEST_SUITE_END();
