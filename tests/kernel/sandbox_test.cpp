// SPDX-License-Identifier: Apache-2.0
// The sandbox against this machine's kernel: sandbox_probe puts it on itself and tries to get out.
#include "server/sandbox/sandbox.h"

#include <doctest/doctest.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "support/machine_tree.h"
#include "support/paths.h"
#include "support/run_program.h"
#include "support/sandbox_attempts.h"

using namespace igpu::test;
using igpu::exporter::landlock_version;

namespace {

class Probe {
 public:
  Probe() {
    tree_.write("folder/file", "content\n");
    tree_.write("outside", "x");
  }
  // "done", the name of the error, or "killed by signal N".
  std::string operator()(const std::string& layers, const std::string& action) {
    tree_.write("folder/file", "content\n");
    ::unlink((folder() + "/other").c_str());
    ::rmdir((folder() + "/other").c_str());
    ProgramOutcome outcome = run_program({test_program("sandbox_probe"), layers, action, folder()});
    if (outcome.status > 128) return "killed by signal " + std::to_string(outcome.status - 128);
    CHECK(outcome.status == 0);
    while (outcome.output.ends_with('\n')) outcome.output.pop_back();
    return outcome.output;
  }
  std::string folder() const { return tree_.path("folder"); }

 private:
  MachineTree tree_;
};

std::vector<std::string> attempts_for(For whom) {
  std::vector<std::string> names;
  for (const Attempt& attempt : sandbox_attempts()) {
    if (attempt.whom == whom) names.emplace_back(attempt.name);
  }
  REQUIRE_FALSE(names.empty());
  return names;
}

bool fast_open_is_on() {
  std::ifstream file("/proc/sys/net/ipv4/tcp_fastopen");
  unsigned flags = 0;
  return file >> flags && (flags & 1) != 0;
}

}  // namespace

TEST_SUITE_BEGIN("sandbox");

TEST_CASE("seccomp allows what scrapes and responses need") {
  Probe probe;
  for (const For whom : {For::everybody, For::collectors, For::the_unconfined}) {
    for (const std::string& attempt : attempts_for(whom)) {
      CAPTURE(attempt);
      CHECK(probe("none", attempt) == "done");
      CHECK(probe("seccomp", attempt) == "done");
    }
  }
}

TEST_CASE("seccomp denies what an exporter never does, and the same succeeds without it") {
  Probe probe;
  for (const std::string& attempt : attempts_for(For::nobody)) {
    CAPTURE(attempt);
    CHECK(probe("none", attempt) == "done");
    CHECK(probe("seccomp", attempt) == "EPERM");
  }
  for (const std::string& attempt : attempts_for(For::nobody_yet)) {
    CAPTURE(attempt);
    CHECK(probe("seccomp", attempt) == "EPERM");
  }
}

TEST_CASE("a listening socket can connect by sending unless it is denied") {
  Probe probe;
  if (!fast_open_is_on()) {
    MESSAGE("not checked: net.ipv4.tcp_fastopen is off here");
    return;
  }
  CHECK(probe("none", "fast_open") == "done");
  CHECK(probe("none", "fast_open_sendto") == "done");
}

TEST_CASE("an event that samples other processes' memory returns counts only, as it cannot be mapped") {
  Probe probe;
  if (probe("none", "read_samples") != "ENODATA") {
    MESSAGE("not checked: this user may have no perf event here: " << probe("none", "read_samples"));
    return;
  }
  CHECK(probe("none", "map_event") == "done");
  CHECK(probe("seccomp", "map_event") == "EPERM");
  CHECK(probe("seccomp", "read_samples") == "ENODATA");
  CHECK(probe("seccomp", "count_cpu") == "EPERM");
}

TEST_CASE("of bpf(2) only a pass of an iterator is left, whatever the kernel would allow") {
  Probe probe;
  if (probe("none", "bpf_map") != "done") MESSAGE("not checked: this user may not use BPF here");
  for (const char* command : {"bpf_map", "bpf_program", "bpf_attach", "bpf_attach_raw", "bpf_read_map", "bpf_write_map",
                              "bpf_change_link", "bpf_run"}) {
    CAPTURE(command);
    // Without the sandbox the same succeeds wherever a map may be made.
    if (probe("none", "bpf_map") == "done") CHECK(probe("none", command) == "done");
    CHECK(probe("seccomp", command) == "EPERM");
  }
  CHECK(probe("seccomp", "bpf_iterate") == probe("none", "bpf_iterate"));
}

TEST_CASE("a process that runs a program is killed") {
  Probe probe;
  const std::string killed = "killed by signal " + std::to_string(SIGSYS);
  for (const char* action : {"exec", "execveat"}) {
    CHECK(probe("none", action) == "done");
    CHECK(probe("seccomp", action) == killed);
  }
}

TEST_CASE("the C library falls back to calls whose arguments a filter can read") {
  Probe probe;
  CHECK(probe("seccomp", "clone3") == "ENOSYS");
}

TEST_CASE("Landlock allows reading the listed paths and nothing else, or reports why it is not available") {
  Probe probe;
  const ProgramOutcome tried = run_program({test_program("sandbox_probe"), "landlock", "read", probe.folder()});
  if (landlock_version() == 0) {
    MESSAGE("this kernel offers no Landlock");
    CHECK(tried.status == 3);
    CHECK((tried.output.starts_with("not on: this kernel has")));
    return;
  }
  for (const std::string& attempt : attempts_for(For::everybody)) {
    CAPTURE(attempt);
    CHECK(probe("landlock", attempt) == "done");
  }
  for (const char* attempt : {"read_outside", "list_root", "write", "read_write", "append", "create", "creat", "unlink",
                              "mkdir", "mkfifo", "symlink", "link", "rename", "exec"}) {
    CAPTURE(attempt);
    const std::string answer = probe("landlock", attempt);
    CHECK((answer == "EACCES" || (answer == "EXDEV" && landlock_version() == 1)));
  }
  CHECK(probe("landlock", "truncate") == (landlock_version() >= 3 ? "EACCES" : "done"));
  for (const char* attempt : {"connect", "bind"}) {
    CAPTURE(attempt);
    CHECK(probe("landlock", attempt) == (landlock_version() >= 4 ? "EACCES" : "done"));
  }
}

TEST_CASE("the process that writes flights makes and removes files in its folder, and nothing anywhere else") {
  Probe probe;
  if (std::getenv("IGPU_INSTRUMENTED") != nullptr) {
    MESSAGE("not checked: a sanitizer makes calls of its own, which the writer's filter denies");
    return;
  }
  for (const std::string& attempt : attempts_for(For::the_flight_writer)) {
    CAPTURE(attempt);
    CHECK(probe("none", attempt) == "done");
    CHECK(probe("flights", attempt) == "done");
    CHECK(probe("seccomp", attempt) == "EPERM");  // of the exporter's own threads none may
  }
  // A filter does not see where a path leads.
  for (const char* attempt : {"create_beside_opened", "move_out_of_opened", "remove_above_opened"}) {
    CAPTURE(attempt);
    if (landlock_version() != 0) CHECK((probe("flights", attempt) == "EACCES" || probe("flights", attempt) == "EXDEV"));
  }
  for (const For whom : {For::nobody, For::nobody_yet, For::the_unconfined}) {
    for (const std::string& attempt : attempts_for(whom)) {
      if (attempt == "create_beside_opened" || attempt == "move_out_of_opened" || attempt == "remove_above_opened")
        continue;
      CAPTURE(attempt);
      CHECK(probe("flights", attempt) == "EPERM");
    }
  }
  const std::string killed = "killed by signal " + std::to_string(SIGSYS);
  CHECK(probe("flights", "exec") == killed);
}

namespace {

// Whatever no helper needs, except what this one is for.
void check_denied(Probe& probe, const std::string& helper, const std::set<std::string>& allowed) {
  for (const For whom : {For::collectors, For::nobody, For::nobody_yet, For::the_flight_writer}) {
    for (const std::string& attempt : attempts_for(whom)) {
      CAPTURE(attempt);
      if (!allowed.contains(attempt)) CHECK(probe(helper, attempt) == "EPERM");
    }
  }
  CHECK(probe(helper, "read") == "done");
  CHECK(probe(helper, "exec") == "killed by signal " + std::to_string(SIGSYS));
}

}  // namespace

TEST_CASE("the process that opens perf events opens those of whole processors, reads files and has no other call") {
  Probe probe;
  if (std::getenv("IGPU_INSTRUMENTED") != nullptr) {
    MESSAGE("not checked: a sanitizer makes calls of its own, which the opener's filter denies");
    return;
  }
  check_denied(probe, "opener", {"count_cpu", "sample_cpu", "probe_that_writes", "probe_by_relative_path"});
}

TEST_CASE("where perf events are opened no file can be named, so no uprobe changes the memory of another process") {
  Probe probe;
  if (std::getenv("IGPU_INSTRUMENTED") != nullptr || ::geteuid() != 0 || probe("none", "probe_that_writes") != "done") {
    MESSAGE("not checked: this user may not probe programs here, or a sanitizer makes calls of its own");
    return;
  }
  CHECK(probe("opener", "probe_that_writes") == "done");  // a filter does not see which event it is
  CHECK(probe("opener_in_sysfs", "probe_that_writes") == "ENOENT");
  CHECK(probe("opener_in_sysfs", "probe_by_relative_path") == "ENOENT");
  CHECK(probe("opener_in_sysfs", "count_cpu") == "done");
}

TEST_CASE("the process that talks to a receiver has TCP to the receiver's port, and nothing that reaches others") {
  Probe probe;
  if (std::getenv("IGPU_INSTRUMENTED") != nullptr) {
    MESSAGE("not checked: a sanitizer makes calls of its own, which the filter denies");
    return;
  }
  check_denied(probe, "push", {"socket", "connect", "connect_elsewhere", "connect_to_nobody"});
  CHECK(probe("push", "socket") == "done");
  CHECK(probe("push", "connect") == "done");
  CHECK(probe("push", "accept") == "EPERM");
  CHECK(probe("none", "connect_elsewhere") == "done");
  if (landlock_version() < 4) {
    MESSAGE("not checked: other ports, as this kernel's Landlock has no rules for TCP");
    return;
  }
  CHECK(probe("push", "connect_elsewhere") == "EACCES");
  CHECK(probe("push", "read_outside") == "EACCES");
}

TEST_CASE("the process that resolves names has UDP as well, and UNIX sockets only for a name of mDNS") {
  Probe probe;
  if (std::getenv("IGPU_INSTRUMENTED") != nullptr) {
    MESSAGE("not checked: a sanitizer makes calls of its own, which the filter denies");
    return;
  }
  std::set<std::string> allowed{
      "socket", "socket6", "socket_of_datagrams", "connect", "connect_elsewhere", "connect_to_nobody", "sendmmsg"};
  check_denied(probe, "resolver", allowed);
  CHECK(probe("resolver", "socket_of_datagrams") == "done");
  CHECK(probe("resolver", "accept") == "EPERM");
  allowed.insert("socket_unix");
  check_denied(probe, "resolver_of_mdns", allowed);
  CHECK(probe("resolver_of_mdns", "socket_unix") == "done");
}

TEST_CASE("all layers together: what is needed works, everything else is denied") {
  Probe probe;
  if (std::getenv("IGPU_INSTRUMENTED") != nullptr) {
    const ProgramOutcome tried = run_program({test_program("sandbox_probe"), "all", "read", probe.folder()});
    CHECK(tried.status == 3);
    CHECK(tried.output == "not on: this build is instrumented (sanitizer or coverage)\n");
    return;
  }
  for (const std::string& attempt : attempts_for(For::everybody)) {
    CAPTURE(attempt);
    CHECK(probe("all", attempt) == "done");
  }
  for (const For whom : {For::collectors, For::nobody, For::nobody_yet}) {
    for (const std::string& attempt : attempts_for(whom)) {
      CAPTURE(attempt);
      CHECK(probe("all", attempt) == "EPERM");
    }
  }
  CHECK(probe("all", "capabilities") == "ENODATA");
  CHECK(probe("all", "exec") == "killed by signal " + std::to_string(SIGSYS));
  CHECK(probe("all", "read_outside") == (landlock_version() == 0 ? "done" : "EACCES"));
}

TEST_SUITE_END();
