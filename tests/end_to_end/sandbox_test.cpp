// SPDX-License-Identifier: Apache-2.0
// The running program's sandbox, as the kernel reports it, and that pages are as complete with it as without.
#include "server/sandbox/sandbox.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <thread>

#include "server/sandbox/privileges.h"
#include "support/exporter_process.h"
#include "support/exposition_parser.h"
#include "support/gpu_tree.h"
#include "support/http_client.h"
#include "support/machine_tree.h"
#include "support/paths.h"
#include "support/run_program.h"

using namespace igpu::test;
using namespace igpu::exporter;
namespace fs = std::filesystem;

namespace {

bool instrumented() { return std::getenv("IGPU_INSTRUMENTED") != nullptr; }

struct Thread {
  std::string name;
  ThreadStatus status;

  // Collectors run on these; clients talk to all others, which have less.
  bool collects() const { return name == "collect" || name == "housekeeping" || name == "events"; }
};

std::vector<Thread> threads_of(pid_t pid) {
  std::vector<Thread> threads;
  for (const auto& entry : fs::directory_iterator("/proc/" + std::to_string(pid) + "/task")) {
    std::ifstream file(entry.path() / "status", std::ios::binary);
    const std::string text(std::istreambuf_iterator<char>(file), {});
    std::ifstream comm(entry.path() / "comm");
    std::string name;
    std::getline(comm, name);
    // ThreadSanitizer's own thread, which it makes beside the first of ours and which keeps what the process had then.
    // It has the program's name, as the main thread has.
    if (instrumented() && name.starts_with("intel-gpu-expor") && entry.path().filename() != std::to_string(pid))
      continue;
    if (const auto status = parse_thread_status(text)) threads.push_back({name, *status});
  }
  return threads;
}

int perf_event_paranoid() {
  std::ifstream file("/proc/sys/kernel/perf_event_paranoid");
  int level = 99;
  file >> level;
  return level;
}

// "name{label=value,...}" of all series; what differs between two runs of anything is left out.
std::set<std::string> series(std::uint16_t port) {
  std::set<std::string> found;
  for (const ExpositionFamily& family : parse_prometheus_text(http_get(port, "/metrics").body).families) {
    for (const ExpositionSample& sample : family.samples) {
      std::string text = sample.name + "{";
      for (const auto& [name, value] : sample.labels) text += name + "=" + value + ",";
      found.insert(text + "}");
    }
  }
  return found;
}

// Two scrapes of a program that was started so: windows have begun, and reads happen again.
std::set<std::string> second_page(const std::vector<std::string>& arguments, const std::vector<std::string>& launcher) {
  ExporterProcess exporter(arguments, {}, launcher);
  (void)series(exporter.port());
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  return series(exporter.port());
}

void same_page(std::vector<std::string> arguments, const std::vector<std::string>& launcher = {}) {
  arguments.emplace_back("--scrape.min-window=10ms");
  const std::set<std::string> within = second_page(arguments, launcher);
  arguments.emplace_back("--no-sandbox");
  const std::set<std::string> without = second_page(arguments, launcher);
  CHECK(within.size() > 15);
  CHECK(within == without);
}

// A machine whose GPU counts with events that every kernel has: type 1, PERF_TYPE_SOFTWARE.
void add_counting_gpu(MachineTree& tree) {
  add_gpu(tree,
          {.pci_path = "pci0000:00/0000:00:02.0", .driver = "i915", .card = "card0", .render_node = "renderD128"});
  const std::string pmu = "sys/bus/event_source/devices/i915/";
  tree.write(pmu + "type", "1\n");
  tree.write(pmu + "cpumask", "0\n");
  tree.write(pmu + "format/i915_eventid", "config:0-20\n");
  for (const auto& [name, config] :
       {std::pair("rcs0-busy", "0x0"), {"bcs0-busy", "0x1"}, {"interrupts", "0x3"}, {"rc6-residency", "0x2"}}) {
    tree.write(pmu + "events/" + name, std::string("config=") + config + "\n");
  }
  tree.write(pmu + "events/rcs0-busy.unit", "ns\n");
  tree.write(pmu + "events/bcs0-busy.unit", "ns\n");
  tree.write(pmu + "events/rc6-residency.unit", "ns\n");
  tree.make_directory("dev/dri");
}

// As an unprivileged user, from a world-readable folder.
class Nobody {
 public:
  explicit Nobody(MachineTree& tree) {
    fs::copy_file(exporter_binary(), tree.path("exporter"), fs::copy_options::overwrite_existing);
    fs::permissions(tree.path("exporter"), fs::perms(0755));
    fs::permissions(tree.root(), fs::perms(0755));
    launcher = {"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--", tree.path("exporter")};
    if (::geteuid() != 0) launcher = {tree.path("exporter")};
  }
  std::vector<std::string> launcher;
};

}  // namespace

TEST_SUITE_BEGIN("sandbox");

TEST_CASE("every thread has dropped what the documentation says, and the metric agrees") {
  ExporterProcess exporter({"--no-collector.imc"});
  const Exposition page = parse_prometheus_text(http_get(exporter.port(), "/metrics").body);
  const auto layer = [&](const char* name) {
    return page.value("intel_gpu_exporter_sandbox", {{"layer", name}}).value_or(-1);
  };

  const CapabilitySet granted = own_capabilities().permitted;
  const CapabilitySet keep = capabilities_to_keep(CapabilityUses{});
  const bool can_lower_bounds = (granted & capability::set(capability::kSetpcap)) != 0;
  const std::vector<Thread> threads = threads_of(exporter.pid());
  const auto collecting =
      std::count_if(threads.begin(), threads.end(), [](const Thread& thread) { return thread.collects(); });
  CHECK(collecting >= 2);
  CHECK(threads.size() > static_cast<std::size_t>(collecting) + 2);
  for (const auto& [key, thread] : threads) {
    const auto& name = key;  // clang 14 captures no structured binding
    CAPTURE(name);
    const bool collects = name == "collect" || name == "housekeeping" || name == "events";
    CHECK(thread.effective == (collects ? keep : 0));
    CHECK(thread.permitted == (collects ? keep : 0));
    CHECK(thread.inheritable == 0);
    CHECK(thread.ambient == 0);
    if (can_lower_bounds) CHECK((thread.bounding & ~keep) == 0);
    CHECK(thread.no_new_privs);
    if (!instrumented()) CHECK(thread.seccomp == 2);
  }
  CHECK(layer("capabilities") == 1);
  CHECK(layer("no_new_privs") == 1);
  CHECK(layer("seccomp") == (instrumented() ? 0 : 1));
  CHECK(layer("core_dumps") == (instrumented() ? 0 : 1));
  CHECK(layer("landlock") == (instrumented() || landlock_version() == 0 ? 0 : 1));
  CHECK(exporter.log().find("msg=sandbox on=") != std::string::npos);
  CHECK(exporter.stop(SIGTERM) == 0);
}

TEST_CASE(
    "a key that only CAP_DAC_READ_SEARCH can read keeps that one for threads that clients talk to, and no other") {
  const CapabilitySet reads = capability::set(capability::kDacReadSearch);
  if (::geteuid() != 0 || (own_capabilities().permitted & reads) == 0) {
    MESSAGE("not checked: these tests cannot make files of other users");
    return;
  }
  MachineTree tree;
  tree.write("folder/web.yml", "");
  for (const bool ours : {true, false}) {
    CAPTURE(ours);
    REQUIRE(::chown(tree.path("folder/web.yml").c_str(), ours ? 0 : 65534, 65534) == 0);
    fs::permissions(tree.path("folder/web.yml"), fs::perms(0600));
    ExporterProcess exporter({"--web.config.file=" + tree.path("folder/web.yml")});
    ExporterProcess simulated({"--simulate=asleep", "--web.config.file=" + tree.path("folder/web.yml")});
    for (const Thread& thread : threads_of(simulated.pid())) CHECK(thread.status.permitted == (ours ? 0 : reads));
    for (const Thread& thread : threads_of(exporter.pid())) {
      CAPTURE(thread.name);
      CHECK((thread.collects() || (thread.status.permitted | thread.status.effective) == (ours ? 0 : reads)));
    }
  }
}

TEST_CASE("--no-sandbox changes nothing and is logged") {
  ExporterProcess exporter({"--simulate=asleep", "--no-sandbox"});
  const CapabilitySet granted = own_capabilities().permitted;
  for (const Thread& thread : threads_of(exporter.pid())) {
    CHECK(thread.status.permitted == granted);
    CHECK_FALSE(thread.status.no_new_privs);
  }
  const Exposition page = parse_prometheus_text(http_get(exporter.port(), "/metrics").body);
  CHECK(page.find("intel_gpu_exporter_sandbox").size() == 5);
  for (const ExpositionSample* sample : page.find("intel_gpu_exporter_sandbox")) CHECK(sample->value == 0);
  CHECK(exporter.log().find("sandbox is off") != std::string::npos);
}

TEST_CASE("a simulated machine needs no capability at all") {
  ExporterProcess exporter({"--simulate=rack"});
  for (const Thread& thread : threads_of(exporter.pid())) {
    CHECK(thread.status.permitted == 0);
    CHECK(thread.status.effective == 0);
  }
}

// The process that opens perf events.
pid_t child_of(pid_t exporter) {
  const std::string task = "/proc/" + std::to_string(exporter) + "/task/" + std::to_string(exporter);
  std::ifstream children(task + "/children");
  pid_t child = -1;
  children >> child;
  return child;
}

TEST_CASE("another process opens perf events, with no right but that, and ends with the exporter") {
  ExporterProcess exporter({});
  const pid_t opener = child_of(exporter.pid());
  REQUIRE(opener > 0);
  const std::vector<Thread> threads = threads_of(opener);
  REQUIRE(threads.size() == 1);
  CHECK(threads.front().name == "event-opener");
  const ThreadStatus& status = threads.front().status;
  CHECK(status.permitted == capabilities_to_count());
  CHECK(status.effective == status.permitted);
  CHECK((status.inheritable | status.ambient) == 0);
  CHECK(status.no_new_privs);
  if (!instrumented()) CHECK(status.seccomp == 2);
  std::set<std::string> open;
  for (const auto& entry : fs::directory_iterator("/proc/" + std::to_string(opener) + "/fd"))
    if (std::stoi(entry.path().filename().string()) > 2) open.insert(fs::read_symlink(entry.path()).string());
  CHECK(open.size() <= 2);  // its socket and sysfs
  // No path leads to a file there.
  if (!instrumented() && (own_capabilities().permitted & capability::set(capability::kSysChroot)) != 0)
    CHECK(fs::read_symlink("/proc/" + std::to_string(opener) + "/root") == "/sys/bus/event_source/drivers");
  CHECK(exporter.stop(SIGTERM) == 0);
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (::kill(opener, 0) == 0 && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  CHECK(::kill(opener, 0) == -1);
}

// Its privileges are checked once its filter is on.
void check_push_process(pid_t process, const std::string& name) {
  CAPTURE(name);
  REQUIRE(process > 0);
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  const auto confined = [&] {
    const std::vector<Thread> threads = threads_of(process);
    return threads.size() == 1 && threads.front().status.no_new_privs &&
           (instrumented() || threads.front().status.seccomp == 2);
  };
  while (!confined() && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  REQUIRE(confined());
  const Thread thread = threads_of(process).front();
  CHECK(thread.name == name);
  CHECK((thread.status.permitted | thread.status.effective | thread.status.inheritable | thread.status.ambient) == 0);
  std::ifstream file("/proc/" + std::to_string(process) + "/status");
  const std::string status(std::istreambuf_iterator<char>(file), {});
  if (::geteuid() == 0) {
    CHECK(status.find("Uid:\t65534\t65534\t65534\t65534\n") != status.npos);
    CHECK(status.find("Gid:\t65534\t65534\t65534\t65534\n") != status.npos);
    CHECK(status.find("Groups:\t \n") != status.npos);
  }
}

void check_ends(pid_t process) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (::kill(process, 0) == 0 && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  CHECK(::kill(process, 0) == -1);
}

TEST_CASE(
    "another process talks to the receiver of a push, one more resolves its name, and both end with the exporter") {
  // Nobody listens there.
  ExporterProcess exporter({"--simulate=asleep", "--push.otlp=http://localhost:9"});
  const pid_t client = child_of(exporter.pid());
  check_push_process(client, "push-client");
  const pid_t resolver = child_of(client);
  check_push_process(resolver, "push-resolver");
  exporter.signal(SIGKILL);
  check_ends(client);
  check_ends(resolver);
}

TEST_CASE("an address needs no resolver") {
  ExporterProcess exporter({"--simulate=asleep", "--push.otlp=http://127.0.0.1:9"});
  const pid_t client = child_of(exporter.pid());
  check_push_process(client, "push-client");
  CHECK(child_of(client) == -1);
}

namespace {

// Whether the memory that a process may write holds this text.
bool memory_holds(pid_t process, const std::string& text) {
  std::ifstream maps("/proc/" + std::to_string(process) + "/maps");
  std::ifstream memory("/proc/" + std::to_string(process) + "/mem", std::ios::binary);
  REQUIRE(maps);
  REQUIRE(memory);
  for (std::string line; std::getline(maps, line);) {
    unsigned long begin = 0, end = 0;
    char readable = 0, writable = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx %c%c", &begin, &end, &readable, &writable) != 4 || writable != 'w') continue;
    std::string bytes(end - begin, '\0');
    memory.clear();
    memory.seekg(static_cast<std::streamoff>(begin));
    memory.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    if (bytes.find(text) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("the processes beside the exporter hold no password of its environment") {
  if (::geteuid() != 0 || instrumented()) {
    MESSAGE("not checked: only root reads their memory, and a sanitizer's is too large");
    return;
  }
  MachineTree tree;
  const std::string secret = "a-word-for-the-proxy";
  ExporterProcess exporter({"--sample.interval=100ms", "--flight.directory=" + tree.root().string()},
                           {"https_proxy=http://user:" + secret + "@127.0.0.1:9", "OTHER_PASSWORD=" + secret});
  CHECK(memory_holds(exporter.pid(), secret));  // so it would be found
  std::ifstream children("/proc/" + std::to_string(exporter.pid()) + "/task/" + std::to_string(exporter.pid()) +
                         "/children");
  std::set<std::string> names;
  for (pid_t child = 0; children >> child;) {
    names.insert(threads_of(child).front().name);
    CHECK_FALSE(memory_holds(child, secret));
  }
  CHECK(names == std::set<std::string>{"event-opener", "flight-writer"});
}

TEST_CASE("nothing needs that process with a simulated machine or without a sandbox") {
  CHECK(child_of(ExporterProcess({"--simulate=asleep"}).pid()) == -1);
  CHECK(child_of(ExporterProcess({"--no-sandbox"}).pid()) == -1);
}

TEST_CASE("only the process that opens perf events keeps CAP_SYS_ADMIN, if they need it, and the log has a hint") {
  const CapabilitySet admin = capability::set(capability::kSysAdmin);
  if ((own_capabilities().permitted & admin) == 0) {
    MESSAGE("these tests have no CAP_SYS_ADMIN to keep or to drop");
    return;
  }
  ExporterProcess exporter({}, {}, {"setpriv", "--bounding-set=-perfmon", "--", exporter_binary()});
  const bool needed = perf_event_paranoid() > 0;
  for (const Thread& thread : threads_of(exporter.pid()))
    CHECK((thread.status.permitted & (admin | capability::set(capability::kPerfmon))) == 0);
  for (const Thread& thread : threads_of(child_of(exporter.pid())))
    CHECK(thread.status.permitted == (needed ? admin : 0));
  CHECK((exporter.log().find("perf events need CAP_SYS_ADMIN here") != std::string::npos) == needed);
}

TEST_CASE(
    "a layer that this kernel or container does not offer is logged with its hint, and the program serves without it") {
  struct Lack {
    const char* calls;
    const char* layer;
    const char* hint;
  };
  const std::vector<Lack> lacks{
      {"landlock_create_ruleset=ENOSYS", "landlock", "use a kernel built with CONFIG_SECURITY_LANDLOCK"},
      {"landlock_create_ruleset=EPERM", "landlock", "denies landlock_*"},
      {"landlock_restrict_self=EPERM", "landlock", "denies landlock_*"},
      {"seccomp=EPERM", "seccomp", "hint="},
      {"seccomp=ENOSYS", "seccomp", "hint="},
      {"capset=EPERM", "capabilities", "denies capset"},
      {"prctl=EPERM", "no_new_privs", "denies prctl"},
  };
  for (const Lack& lack : lacks) {
    CAPTURE(lack.calls);
    ExporterProcess exporter({"--simulate=asleep"}, {}, {test_program("without_calls"), lack.calls, exporter_binary()});
    const Exposition page = parse_prometheus_text(http_get(exporter.port(), "/metrics").body);
    CHECK_FALSE(page.find("intel_gpu_info").empty());
    CHECK(page.value("intel_gpu_exporter_sandbox", {{"layer", lack.layer}}) == 0);
    if (!instrumented()) {
      const std::string log = exporter.log();
      const std::size_t line = log.find(std::string("msg=\"sandbox layer missing\" layer=") + lack.layer);
      REQUIRE(line != std::string::npos);
      CHECK(log.substr(line, log.find('\n', line) - line).find(lack.hint) != std::string::npos);
    }
    CHECK(exporter.stop(SIGTERM) == 0);
  }
}

TEST_CASE("the page of a simulated machine is the same") { same_page({"--simulate=rack"}); }

TEST_CASE("the page of a captured machine is the same, for root and for a user without rights") {
  for (const char* machine : {"a380-i915", "b580-xe-k6.14"}) {
    CAPTURE(machine);
    MachineTree tree;
    for (const char* directory : {"sys", "proc", "dev/dri"}) tree.make_directory(directory);
    tree.lay_out(machine);
    const std::vector<std::string> paths{"--path.sysfs=" + tree.path("sys"), "--path.procfs=" + tree.path("proc"),
                                         "--path.devfs=" + tree.path("dev")};
    same_page(paths);
    same_page(paths, Nobody(tree).launcher);
  }
}

TEST_CASE("events of this kernel and all its processes: the page is the same, for root and for a user without rights") {
  MachineTree tree;
  add_counting_gpu(tree);
  const std::vector<std::string> paths{"--path.sysfs=" + tree.path("sys"), "--path.devfs=" + tree.path("dev")};
  same_page(paths);
  same_page(paths, Nobody(tree).launcher);
}

TEST_CASE("without collectors that inspect processes all threads are confined, and the page is the same") {
  MachineTree tree;
  for (const char* directory : {"sys", "proc", "dev/dri"}) tree.make_directory(directory);
  tree.lay_out("multigpu-igpu-arc-links");
  const std::vector<std::string> arguments{"--path.sysfs=" + tree.path("sys"),
                                           "--path.procfs=" + tree.path("proc"),
                                           "--path.devfs=" + tree.path("dev"),
                                           "--no-collector.fdinfo",
                                           "--no-collector.engines",
                                           "--no-collector.sriov",
                                           "--no-collector.npu"};
  same_page(arguments);
  same_page(arguments, Nobody(tree).launcher);
  same_page({"--no-collector.fdinfo", "--no-collector.engines", "--no-collector.sriov",
             "--no-collector.npu"});  // this machine, with whatever it has
}

TEST_CASE("memory is protected: no core dump, and all process_* metrics are present") {
  MachineTree tree;
  tree.make_directory("x");
  for (const std::vector<std::string>& launcher : {std::vector<std::string>(), Nobody(tree).launcher}) {
    ExporterProcess exporter({"--simulate=asleep"}, {}, launcher);
    const Exposition page = parse_prometheus_text(http_get(exporter.port(), "/metrics").body);
    for (const char* name :
         {"process_cpu_seconds_total", "process_open_fds", "process_max_fds", "process_threads",
          "process_virtual_memory_bytes", "process_resident_memory_bytes", "process_start_time_seconds"}) {
      CAPTURE(name);
      CHECK(page.value(name).value_or(-1) > 0);
    }
    std::ifstream limits("/proc/" + std::to_string(exporter.pid()) + "/limits");
    const std::string text(std::istreambuf_iterator<char>(limits), {});
    if (!instrumented()) CHECK(text.find("Max core file size        0                    0") != std::string::npos);
    struct stat facts {};
    REQUIRE(::stat(("/proc/" + std::to_string(exporter.pid()) + "/mem").c_str(), &facts) == 0);
    if (!instrumented()) CHECK(facts.st_uid == 0);  // what is not dumpable belongs to root
  }
}

TEST_CASE("a thread that kept its privileges is detected, and the metric reports the layer as off") {
  if (instrumented()) return;  // a thread of the sanitizer is like that, and is not checked
  ExporterProcess exporter({"--simulate=asleep"},
                           {std::string("LD_PRELOAD=") + test_program("libsandbox_inject.so"), "IGPU_INJECT_THREAD=1"});
  const Exposition page = parse_prometheus_text(http_get(exporter.port(), "/metrics").body);
  // The filter is put on all threads at once, and no_new_privs with it.
  CHECK(page.value("intel_gpu_exporter_sandbox", {{"layer", "seccomp"}}) == 1);
  CHECK(page.value("intel_gpu_exporter_sandbox", {{"layer", "no_new_privs"}}) == 1);
  const bool has_any = own_capabilities().permitted != 0;
  CHECK(page.value("intel_gpu_exporter_sandbox", {{"layer", "capabilities"}}) == (has_any ? 0 : 1));
  CHECK((exporter.log().find("threads are without it") != std::string::npos) == has_any);
}

TEST_CASE("another process of the same user can neither trace it nor read its memory, environment and descriptors") {
  if (instrumented()) return;
  MachineTree tree;
  tree.make_directory("x");
  std::vector<std::string> launcher = Nobody(tree).launcher;
  ExporterProcess exporter({"--simulate=asleep"}, {}, launcher);
  const std::string folder = "/proc/" + std::to_string(exporter.pid());
  const std::string memory = folder + "/mem", environment = folder + "/environ", descriptors = folder + "/fd";
  const pid_t other = ::fork();
  if (other == 0) {
    if (::geteuid() == 0 && (::setgid(65534) != 0 || ::setuid(65534) != 0)) ::_exit(1);
    if (::ptrace(PTRACE_SEIZE, exporter.pid(), nullptr, nullptr) != -1 || errno != EPERM) ::_exit(2);
    if (::open(memory.c_str(), O_RDONLY) >= 0 || errno != EACCES) ::_exit(3);
    if (::open(environment.c_str(), O_RDONLY) >= 0 || errno != EACCES) ::_exit(4);
    if (::open(descriptors.c_str(), O_RDONLY | O_DIRECTORY) >= 0 || errno != EACCES) ::_exit(5);
    ::_exit(0);
  }
  int status = -1;
  REQUIRE(::waitpid(other, &status, 0) == other);
  CHECK(status == 0);
}

TEST_CASE("a crash leaves no core dump") {
  if (instrumented()) return;
  ExporterProcess exporter({"--simulate=asleep"});
  exporter.signal(SIGSEGV);
  siginfo_t info{};
  REQUIRE(::waitid(P_PID, static_cast<id_t>(exporter.pid()), &info, WEXITED | WNOWAIT) == 0);
  CHECK(info.si_code == CLD_KILLED);  // not CLD_DUMPED
}

TEST_CASE("doctor reports the sandbox that serve would have") {
  const ProgramOutcome outcome = run_program({exporter_binary(), "doctor", "--simulate=tgl-broadcast"});
  CHECK(outcome.status == 0);
  CHECK(outcome.output.find("Sandbox of `serve` on this machine") != std::string::npos);
  CHECK(outcome.output.find("  ok       no_new_privs\n") != std::string::npos);
  CHECK(outcome.output.find("  ok       capabilities: keeps none\n") != std::string::npos);
  CHECK(outcome.output.find(instrumented() ? "  -        seccomp" : "  ok       seccomp\n") != std::string::npos);
  CHECK(outcome.output.find(instrumented() || landlock_version() == 0 ? "  -        landlock"
                                                                      : "  ok       landlock") != std::string::npos);
  const ProgramOutcome off = run_program({exporter_binary(), "doctor", "--simulate=tgl-broadcast", "--no-sandbox"});
  CHECK(off.status == 0);
  CHECK(off.output.find("seccomp: turned off by --no-sandbox") != std::string::npos);
}

TEST_SUITE_END();
