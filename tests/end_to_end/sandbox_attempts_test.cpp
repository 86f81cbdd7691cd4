// SPDX-License-Identifier: Apache-2.0
// The claims of docs/sandbox.md, tried from every kind of thread of the real program: system calls are made within
// its threads, as code would that got in there. That the same calls succeed without a sandbox is tried by
// kernel/sandbox.
#include "support/sandbox_attempts.h"

#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <thread>

#include "igpu/unique_fd.h"
#include "server/sandbox/privileges.h"
#include "server/sandbox/sandbox.h"
#include "support/exporter_process.h"
#include "support/http_client.h"
#include "support/machine_tree.h"
#include "support/paths.h"
#include "support/test_authority.h"

using namespace igpu::test;
using namespace igpu::exporter;
namespace fs = std::filesystem;

namespace {

using Clock = std::chrono::steady_clock;

// Threads that collectors run on; clients talk to all others.
bool is_collecting(const std::string& thread) {
  return thread == "collect" || thread == "housekeeping" || thread == "events" || thread == "sample";
}

int perf_event_paranoid() {
  std::ifstream file("/proc/sys/kernel/perf_event_paranoid");
  int level = 99;
  file >> level;
  return level;
}

// A process of the same user, which the exporter's threads may or may not inspect.
class Neighbour {
 public:
  explicit Neighbour(bool as_nobody) : pid_(::fork()) {
    if (pid_ != 0) return;
    if (as_nobody && (::setgid(65534) != 0 || ::setuid(65534) != 0)) ::_exit(1);
    std::array<char*, 3> arguments{const_cast<char*>("sleep"), const_cast<char*>("3600"), nullptr};
    ::execvp("sleep", arguments.data());
    ::_exit(127);
  }
  ~Neighbour() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Neighbour(const Neighbour&) = delete;
  Neighbour& operator=(const Neighbour&) = delete;
  std::string maps() const { return "/proc/" + std::to_string(pid_) + "/maps"; }

 private:
  pid_t pid_;
};

struct Setting {
  bool as_nobody = false;
  bool reads_processes = true;
  bool tls = false;
  bool pushes = false;
  bool flights = false;
};

class Injected {
 public:
  explicit Injected(const Setting& setting) : neighbour_(setting.as_nobody) {
    tree_.write("folder/file", std::string(8192, 'x'));
    tree_.write("folder/answers", "");
    tree_.write("folder/web.yml", "");
    if (setting.tls) {
      openssl({"req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30",
               "-subj", "/CN=localhost", "-keyout", tree_.path("folder/key.pem"), "-out",
               tree_.path("folder/cert.pem")});
      fs::permissions(tree_.path("folder/key.pem"), fs::perms(0644));
      tree_.write("folder/web.yml", "tls_server_config:\n  cert_file: cert.pem\n  key_file: key.pem\n");
    }
    tree_.write("outside", "x");
    fs::permissions(tree_.root(), fs::perms(0755));
    fs::permissions(tree_.path("folder"), fs::perms(0777));
    fs::permissions(tree_.path("folder/answers"), fs::perms(0666));
    // From a world-readable folder.
    fs::copy_file(exporter_binary(), tree_.path("exporter"));
    fs::copy_file(test_program("libsandbox_inject.so"), tree_.path("inject.so"));
    fs::permissions(tree_.path("exporter"), fs::perms(0755));
    fs::permissions(tree_.path("inject.so"), fs::perms(0755));
    std::vector<std::string> launcher{tree_.path("exporter")};
    if (setting.as_nobody) {
      launcher = {"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--", tree_.path("exporter")};
    }
    std::vector<std::string> arguments;
    if (!setting.reads_processes)
      arguments = {"--no-collector.fdinfo", "--no-collector.engines", "--no-collector.sriov", "--no-collector.npu"};
    if (setting.pushes) {
      receiver_ = igpu::UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
      sockaddr_in address{};
      address.sin_family = AF_INET;
      address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      socklen_t size = sizeof address;
      void* const raw = &address;
      REQUIRE(::bind(receiver_.get(), static_cast<sockaddr*>(raw), size) == 0);
      REQUIRE(::listen(receiver_.get(), 8) == 0);
      REQUIRE(::getsockname(receiver_.get(), static_cast<sockaddr*>(raw), &size) == 0);
      for (const char* url : {"--push.otlp=http://127.0.0.1:", "--push.mqtt=mqtt://127.0.0.1:"})
        arguments.push_back(url + std::to_string(ntohs(address.sin_port)));
    }
    // The very folder in which the attempts are made.
    if (setting.flights) {
      arguments.emplace_back("--sample.interval=100ms");
      arguments.push_back("--flight.directory=" + tree_.path("folder"));
    }
    arguments.push_back("--web.config.file=" + tree_.path("folder/web.yml"));
    exporter_.emplace(arguments,
                      std::vector<std::string>{
                          "LD_PRELOAD=" + tree_.path("inject.so"), "IGPU_INJECT_FOLDER=" + tree_.path("folder"),
                          "IGPU_INJECT_OUTSIDE=" + tree_.path("outside"), "IGPU_INJECT_MAPS=" + neighbour_.maps()},
                      launcher);
  }

  // One of each name: those of a name are alike. The first is called "main".
  std::map<std::string, pid_t> threads() const {
    std::map<std::string, pid_t> found;
    for (const auto& entry : fs::directory_iterator("/proc/" + std::to_string(exporter_->pid()) + "/task")) {
      const pid_t thread = static_cast<pid_t>(std::stol(entry.path().filename().string()));
      std::ifstream file(entry.path() / "comm");
      std::string name;
      std::getline(file, name);
      if (thread == exporter_->pid()) name = "main";
      if (!name.empty()) found.emplace(name, thread);
    }
    return found;
  }

  void send(pid_t thread, int value) {
    siginfo_t info{};
    info.si_signo = injecting_signal();
    info.si_code = SI_QUEUE;
    info.si_value.sival_int = value;
    REQUIRE(::syscall(SYS_rt_tgsigqueueinfo, exporter_->pid(), thread, info.si_signo, &info) == 0);
  }

  // "done" or the name of the error.
  std::string attempt(pid_t thread, int number) {
    const std::string serial = std::to_string(++serial_);
    send(thread, serial_ * kInjectedAttempts + number);
    const auto until = Clock::now() + std::chrono::seconds(60);
    while (Clock::now() < until) {
      std::ifstream file(tree_.path("folder/answers"));
      file.seekg(read_);
      std::string line;
      if (std::getline(file, line) && !file.eof()) {
        read_ += static_cast<std::streamoff>(line.size()) + 1;
        if (line.starts_with(serial + " ")) return line.substr(serial.size() + 1);
        return "answer to something else: " + line;
      }
      if (const auto status = exporter_->wait(std::chrono::milliseconds(0))) {
        return "the exporter ended: " + std::to_string(*status) + "\n" + exporter_->log();
      }
      std::this_thread::yield();
    }
    return "no answer";
  }

  ExporterProcess& exporter() { return *exporter_; }

 private:
  igpu::UniqueFd receiver_;  // of pushes; accepts none
  MachineTree tree_;
  Neighbour neighbour_;
  std::optional<ExporterProcess> exporter_;
  int serial_ = 0;
  std::streamoff read_ = 0;
};

// The expected result; "": not a matter of the sandbox here.
std::string expected(const Attempt& attempt, const std::string& kind, const Setting& setting) {
  const bool collecting = is_collecting(kind);
  const std::string name = attempt.name;
  const bool privileged = !setting.as_nobody && own_capabilities().permitted != 0;
  if (name == "clone3") return "ENOSYS";
  if (name == "capabilities") return collecting && privileged ? "done" : "ENODATA";
  // Threads that serve clients cannot receive an event; what is asked of the opener is the same.
  if (name == "request_by_unknown_leader") return collecting ? "EBADF" : "";
  if (name.starts_with("request_")) return collecting ? "EPERM" : "";
  if (name.starts_with("receive")) return collecting ? "" : "EPERM";
  if (name == "read_samples") return perf_event_paranoid() <= 2 ? "ENODATA" : "";
  if (name == "read_authorities" && !fs::exists("/etc/ssl/certs/ca-certificates.crt")) return "";
  if (name == "list_keys" && !fs::exists("/etc/ssl")) return "";
  switch (attempt.whom) {
    case For::everybody: return "done";
    case For::collectors: return collecting ? "done" : "EPERM";
    case For::nobody:
    case For::nobody_yet:
    case For::the_flight_writer: return "EPERM";
    case For::the_unconfined:
      if (collecting && setting.reads_processes) return "done";
      if (landlock_version() == 0) return "";
      // Collectors' threads find the GPUs, and list what is in /proc without reading it.
      if (collecting && (name == "list_sysfs" || name == "list_processes")) return "done";
      return "EACCES";
    case For::death: return "";  // apart
  }
  return "";
}

bool checkable() {
  if (std::getenv("IGPU_INSTRUMENTED") == nullptr) return true;
  MESSAGE("not checked: builds with a sanitizer or coverage leave seccomp and Landlock off");
  return false;
}

void try_everything(const Setting& setting) {
  if (!checkable()) return;
  if (landlock_version() == 0) MESSAGE("not checked: files and processes outside, as this kernel has no Landlock");
  Injected program(setting);
  std::vector<std::string> kinds{"main", "front", "worker", "collect", "housekeeping"};
  if (setting.tls) kinds.emplace_back("handshakes");
  if (setting.pushes) kinds.insert(kinds.end(), {"push", "push-otlp", "push-mqtt"});
  if (setting.flights) {
    kinds.insert(kinds.end(), {"sample", "flights"});
    CHECK(http_get(program.exporter().port(), "/metrics").status == 200);  // sampling begins
  }
  // A thread gives itself its name.
  std::map<std::string, pid_t> threads = program.threads();
  const auto missing = [&](const std::string& kind) { return !threads.contains(kind); };
  const auto until = Clock::now() + std::chrono::seconds(60);
  while (std::any_of(kinds.begin(), kinds.end(), missing) && Clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    threads = program.threads();
  }
  for (const std::string& kind : kinds) {
    CAPTURE(kind);
    CHECK_FALSE(missing(kind));
  }
  for (const auto& [name, thread] : threads) {
    const std::string& kind = name;  // clang 14 captures no structured binding
    CAPTURE(kind);
    for (int number = 0; attempt_number(number) != nullptr; ++number) {
      const Attempt& attempt = *attempt_number(number);
      const std::string tried = attempt.name;
      CAPTURE(tried);
      const std::string wanted = expected(attempt, kind, setting);
      if (!wanted.empty()) CHECK(program.attempt(thread, number) == wanted);
    }
  }
  if (!setting.tls) CHECK(http_get(program.exporter().port(), "/metrics").status == 200);
  CHECK(program.exporter().stop(SIGTERM) == 0);
}

}  // namespace

TEST_SUITE_BEGIN("sandbox attempts");

TEST_CASE("every kind of thread, with what these tests may do") { try_everything({}); }

TEST_CASE("every kind of thread, as a user without rights") {
  if (::geteuid() == 0) try_everything({.as_nobody = true});  // else that was the case before
}

TEST_CASE("every kind of thread, with TLS, which has threads of its own") { try_everything({.tls = true}); }

TEST_CASE("every kind of thread, while readings are pushed to a receiver that never answers") {
  try_everything({.pushes = true});
  if (::geteuid() == 0) try_everything({.as_nobody = true, .pushes = true});
}

TEST_CASE("every kind of thread, while another process may write flights into the folder of the attempts") {
  try_everything({.flights = true});
  if (::geteuid() == 0) try_everything({.as_nobody = true, .flights = true});
}

TEST_CASE("every kind of thread, without collectors that inspect processes") {
  try_everything({.reads_processes = false});
  if (::geteuid() == 0) try_everything({.as_nobody = true, .reads_processes = false});
}

TEST_CASE("a thread of any kind that runs a program ends the process") {
  if (!checkable()) return;
  for (const std::string kind : {"main", "front", "worker", "collect"}) {
    for (int number = 0; attempt_number(number) != nullptr; ++number) {
      if (attempt_number(number)->whom != For::death) continue;
      CAPTURE(kind);
      const std::string name = attempt_number(number)->name;
      CAPTURE(name);
      Injected program({});
      std::map<std::string, pid_t> threads = program.threads();
      for (const auto until = Clock::now() + std::chrono::seconds(60);
           !threads.contains(kind) && Clock::now() < until;) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        threads = program.threads();
      }
      REQUIRE(threads.contains(kind));
      program.send(threads.at(kind), kInjectedAttempts + number);
      CHECK(program.exporter().wait(std::chrono::seconds(60)) == 128 + SIGSYS);
    }
  }
}

TEST_SUITE_END();
