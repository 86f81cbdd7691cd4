// SPDX-License-Identifier: Apache-2.0
// The sandbox against this machine's kernel: sandbox_probe puts it on itself and tries to get out.
#include <doctest/doctest.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "sandbox/landlock.h"
#include "support/machine_tree.h"
#include "support/run_program.h"

using namespace igpu::test;
using igpu::exporter::landlock_version;

namespace {

class Probe {
 public:
  Probe() {
    tree_.write("folder/file", "content\n");
  }
  // "done", the name of the error, or "killed by signal N".
  std::string operator()(const std::string& layers, const std::string& action) {
    tree_.write("folder/file", "content\n");
    ::unlink((folder() + "/other").c_str());
    ::rmdir((folder() + "/other").c_str());
    ProgramOutcome outcome = run_program({IGPU_SANDBOX_PROBE, layers, action, folder()});
    if (outcome.status > 128) return "killed by signal " + std::to_string(outcome.status - 128);
    CHECK(outcome.status == 0);
    while (outcome.output.ends_with('\n')) outcome.output.pop_back();
    return outcome.output;
  }
  std::string folder() const { return tree_.path("folder"); }

 private:
  MachineTree tree_;
};

const std::vector<std::string> kNeeded{"read", "list", "thread", "wait", "answer", "pair", "memory", "self", "ask_i915", "ask_xe"};

// What works for anybody on any machine, so that a refusal is the sandbox's.
const std::vector<std::string> kRefused{
    "spawn",  "fork",    "write",  "read_write", "append", "create", "creat",         "truncate",
    "unlink", "rename",  "link",   "symlink",    "mkdir",  "chmod",  "chown",         "memfd",      "socket",
    "socket_unix", "socket_netlink", "connect", "bind", "sendto", "ptrace", "read_memory", "kill", "setuid",
    "limit",  "dumpable", "code", "memory_to_code", "truncate_open"};

// What may fail anyway, with another error, or with the same one for lack of rights.
const std::vector<std::string> kRefusedAnyway{"socket6", "nameless", "unshare", "bpf", "mount", "kexec", "module", "keyctl", "io_uring", "userfaultfd", "terminal", "count_process", "gpu_work"};

}  // namespace

TEST_SUITE_BEGIN("sandbox");

TEST_CASE("seccomp leaves what scrapes and answers need") {
  Probe probe;
  for (const std::string& action : kNeeded) {
    CAPTURE(action);
    CHECK(probe("none", action) == "done");
    CHECK(probe("seccomp", action) == "done");
  }
}

TEST_CASE("seccomp refuses what an exporter never does: the same succeeds without it") {
  Probe probe;
  for (const std::string& action : kRefused) {
    CAPTURE(action);
    CHECK(probe("none", action) == "done");
    CHECK(probe("seccomp", action) == "EPERM");
  }
  for (const std::string& action : kRefusedAnyway) {
    CAPTURE(action);
    CHECK(probe("seccomp", action) == "EPERM");
  }
}

TEST_CASE("a process that runs a program is ended") {
  Probe probe;
  const std::string killed = "killed by signal " + std::to_string(SIGSYS);
  for (const char* action : {"exec", "execveat"}) {
    CHECK(probe("none", action) == "done");
    CHECK(probe("seccomp", action) == killed);
  }
}

TEST_CASE("the C library is told to use the calls whose arguments can be looked at") {
  Probe probe;
  CHECK(probe("seccomp", "clone3") == "ENOSYS");
}

TEST_CASE("Landlock: reading what is named, nothing else, or a reason why the kernel has none") {
  Probe probe;
  const ProgramOutcome tried = run_program({IGPU_SANDBOX_PROBE, "landlock", "read", probe.folder()});
  if (landlock_version() == 0) {
    MESSAGE("this kernel offers no Landlock");
    CHECK(tried.status == 3);
    CHECK((tried.output.starts_with("not on: this kernel has")));
    return;
  }
  for (const std::string& action : kNeeded) {
    CAPTURE(action);
    CHECK(probe("landlock", action) == "done");
  }
  CHECK(probe("none", "read_outside") == "done");
  for (const char* action : {"read_outside", "write", "read_write", "append", "create", "creat", "unlink", "mkdir",
                             "symlink", "link", "rename", "exec"}) {
    CAPTURE(action);
    const std::string answer = probe("landlock", action);
    CHECK((answer == "EACCES" || (answer == "EXDEV" && landlock_version() == 1)));
  }
  CHECK(probe("landlock", "truncate") == (landlock_version() >= 3 ? "EACCES" : "done"));
  for (const char* action : {"connect", "bind"}) {
    CAPTURE(action);
    CHECK(probe("landlock", action) == (landlock_version() >= 4 ? "EACCES" : "done"));
  }
}

TEST_CASE("all layers together: what is needed works, what is not is refused") {
  Probe probe;
  if (std::getenv("IGPU_INSTRUMENTED") != nullptr) {
    const ProgramOutcome tried = run_program({IGPU_SANDBOX_PROBE, "all", "read", probe.folder()});
    CHECK(tried.status == 3);
    CHECK(tried.output == "not on: this build is instrumented (sanitizer or coverage)\n");
    return;
  }
  for (const std::string& action : kNeeded) {
    CAPTURE(action);
    CHECK(probe("all", action) == "done");
  }
  for (const std::string& action : kRefused) {
    CAPTURE(action);
    CHECK(probe("all", action) == "EPERM");
  }
  CHECK(probe("all", "exec") == "killed by signal " + std::to_string(SIGSYS));
  CHECK(probe("all", "read_outside") == (landlock_version() == 0 ? "done" : "EACCES"));
}

TEST_SUITE_END();
