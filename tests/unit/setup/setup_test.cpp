// SPDX-License-Identifier: Apache-2.0
// intel-gpu-exporter setup: what it writes, and that its removal leaves the machine as it was.
#include "setup/setup.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "support/scratch_folder.h"

using namespace igpu::exporter::setup;
namespace fs = std::filesystem;

namespace {

// A machine's files, and the programs that setup runs on it.
struct Machine {
  igpu::test::ScratchFolder folder;
  fs::path program = folder.path("download");
  fs::path root = folder.path("root");
  std::vector<std::string> ran;
  int status = 0;

  Machine() {
    write("/etc/group", "root:x:0:\nvideo:x:44:\nrender:x:105:\n");
    std::ofstream(program) << "the program";
  }
  void write(const std::string& path, const std::string& text) const {
    const fs::path file = root / fs::path(path).relative_path();
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  std::string read(const std::string& path) const {
    std::ifstream file(root / fs::path(path).relative_path());
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::set<std::string> files() const {
    std::set<std::string> all;
    for (const auto& entry : fs::recursive_directory_iterator(root)) all.insert(entry.path().string());
    return all;
  }
  void carry_out(const std::vector<Step>& steps) {
    igpu::exporter::setup::carry_out(steps, look_at_host(root), program, [this](const std::vector<std::string>& words) {
      std::string line;
      for (const std::string& word : words) line += (line.empty() ? "" : " ") + word;
      ran.push_back(line);
      return status;
    });
  }
  void set_up() { carry_out(plan_setup(look_at_host(root))); }
  void remove() { carry_out(plan_removal(look_at_host(root))); }
};

}  // namespace

TEST_SUITE_BEGIN("setup");

TEST_CASE("under systemd: the program, a unit with this machine's groups, and the service runs") {
  Machine machine;
  machine.write("/run/systemd/system/marker", "");
  machine.write("/proc/sys/kernel/perf_event_paranoid", "2\n");
  machine.set_up();
  CHECK(machine.read("/usr/local/bin/intel-gpu-exporter") == "the program");
  const std::string unit = machine.read("/etc/systemd/system/intel-gpu-exporter.service");
  CHECK(unit.find("\nExecStart=/usr/local/bin/intel-gpu-exporter\n") != std::string::npos);
  CHECK(unit.find("\nSupplementaryGroups=render video\n") != std::string::npos);
  CHECK(unit.find("\nAmbientCapabilities=CAP_PERFMON CAP_SYS_PTRACE CAP_BPF CAP_SYS_CHROOT\n") != std::string::npos);
  CHECK(machine.ran == std::vector<std::string>{"systemctl daemon-reload", "systemctl enable intel-gpu-exporter",
                                                "systemctl restart intel-gpu-exporter"});
  CHECK_FALSE(fs::exists(machine.root / "etc/sysctl.d"));
}

TEST_CASE("a unit names no group that the machine lacks, because systemd would not start it") {
  Machine machine;
  machine.write("/run/systemd/system/marker", "");
  machine.write("/etc/group", "root:x:0:\n");
  machine.set_up();
  CHECK(machine.read("/etc/systemd/system/intel-gpu-exporter.service").find("SupplementaryGroups") ==
        std::string::npos);
}

TEST_CASE("where the kernel asks for more than CAP_PERFMON, setup lowers that, and its removal raises it again") {
  Machine machine;
  machine.write("/run/systemd/system/marker", "");
  machine.write("/proc/sys/kernel/perf_event_paranoid", "3\n");
  machine.set_up();
  CHECK(machine.read("/proc/sys/kernel/perf_event_paranoid") == "2\n");
  CHECK(machine.read("/etc/sysctl.d/60-intel-gpu-exporter.conf").find("perf_event_paranoid = 2") != std::string::npos);
  machine.set_up();  // remembers 3, although it finds 2 now
  machine.remove();
  CHECK(machine.read("/proc/sys/kernel/perf_event_paranoid") == "3\n");
}

TEST_CASE("setup twice and its removal leave the files of before") {
  for (const char* const marker : {"/run/systemd/system/marker", "/sbin/openrc-run", "/lib/systemd/systemd"}) {
    CAPTURE(marker);
    Machine machine;
    machine.write(marker, "");
    machine.write("/proc/sys/kernel/perf_event_paranoid", "4\n");
    const std::set<std::string> before = machine.files();
    machine.set_up();
    const std::set<std::string> once = machine.files();
    machine.set_up();
    CHECK(machine.files() == once);
    machine.remove();
    CHECK(machine.files() == before);
    CHECK(plan_removal(look_at_host(machine.root)).empty());
  }
}

TEST_CASE("a folder that others use by now stays") {
  Machine machine;
  machine.write("/run/systemd/system/marker", "");
  machine.set_up();
  machine.write("/usr/local/bin/other", "");
  machine.remove();
  CHECK(fs::exists(machine.root / "usr/local/bin/other"));
  CHECK_FALSE(fs::exists(machine.root / "usr/local/bin/intel-gpu-exporter"));
}

TEST_CASE("under OpenRC: a script in the default runlevel") {
  Machine machine;
  machine.write("/sbin/openrc-run", "");
  machine.write("/run/openrc/softlevel", "default");
  machine.set_up();
  CHECK(machine.read("/etc/init.d/intel-gpu-exporter").starts_with("#!/sbin/openrc-run\n"));
  CHECK((fs::status(machine.root / "etc/init.d/intel-gpu-exporter").permissions() & fs::perms::owner_exec) !=
        fs::perms::none);
  CHECK(machine.ran ==
        std::vector<std::string>{"rc-update add intel-gpu-exporter default", "rc-service intel-gpu-exporter restart"});
}

TEST_CASE("what the service wrote under OpenRC goes with it") {
  Machine machine;
  machine.write("/sbin/openrc-run", "");
  machine.write("/run/openrc/softlevel", "default");
  machine.write("/var/log/other.log", "");
  const std::set<std::string> before = machine.files();
  machine.set_up();
  machine.write("/var/log/intel-gpu-exporter.log", "level=info msg=listening\n");
  machine.remove();
  CHECK(machine.files() == before);
}

TEST_CASE("a system root that does not run: enabled for its next start, and the kernel that runs keeps its settings") {
  Machine machine;
  machine.write("/lib/systemd/systemd", "");
  machine.write("/proc/sys/kernel/perf_event_paranoid", "3\n");
  machine.set_up();
  CHECK(machine.read("/proc/sys/kernel/perf_event_paranoid") == "3\n");
  CHECK(fs::exists(machine.root / "etc/sysctl.d/60-intel-gpu-exporter.conf"));
  CHECK(machine.ran == std::vector<std::string>{"systemctl enable intel-gpu-exporter"});
}

TEST_CASE("without a service manager there is nothing to set up") {
  CHECK(plan_setup(look_at_host(Machine().root)).empty());
}

TEST_CASE("a service of a package is left alone") {
  Machine machine;
  machine.write("/run/systemd/system/marker", "");
  machine.write("/lib/systemd/system/intel-gpu-exporter.service", "");
  CHECK_THROWS_WITH(plan_setup(look_at_host(machine.root)),
                    "a package of this machine has installed the service: remove it first, or use it");
}

TEST_CASE("a step that fails is named, and what was done can be removed") {
  Machine machine;
  machine.write("/run/systemd/system/marker", "");
  const std::set<std::string> before = machine.files();
  machine.status = 1;
  CHECK_THROWS_WITH(machine.set_up(), "cannot run systemctl daemon-reload: it ended with status 1");
  machine.remove();  // although nothing can be stopped or disabled
  CHECK(machine.files() == before);
}

TEST_CASE("a folder that cannot be written is an error with its file") {
  Machine machine;
  machine.write("/run/systemd/system/marker", "");
  machine.write("/usr/local", "a file where a folder has to be");
  CHECK_THROWS_WITH(machine.set_up(),
                    doctest::Contains("cannot copy this program to /usr/local/bin/intel-gpu-exporter: "));
}

TEST_CASE("a link that waits under the name of a file to come is not followed") {
  Machine machine;
  machine.write("/run/systemd/system/marker", "");
  machine.write("/etc/shadow", "root:secret");
  const fs::path folder = machine.root / "usr/local/bin";
  fs::create_directories(folder);
  fs::create_symlink(machine.root / "etc/shadow", folder / ".intel-gpu-exporter.new");
  machine.set_up();
  CHECK(machine.read("/etc/shadow") == "root:secret");
  CHECK(machine.read("/usr/local/bin/intel-gpu-exporter") == "the program");
  // Nor one under the name itself.
  fs::remove(folder / "intel-gpu-exporter");
  fs::create_symlink(machine.root / "etc/shadow", folder / "intel-gpu-exporter");
  machine.set_up();
  CHECK(machine.read("/etc/shadow") == "root:secret");
  CHECK(fs::is_regular_file(fs::symlink_status(folder / "intel-gpu-exporter")));
}

TEST_CASE("folders and files have their modes whatever the umask is") {
  for (const mode_t mask : {0U, 077U}) {
    CAPTURE(mask);
    Machine machine;
    machine.write("/run/systemd/system/marker", "");
    machine.write("/proc/sys/kernel/perf_event_paranoid", "3\n");
    const mode_t before = ::umask(mask);
    machine.set_up();
    ::umask(before);
    const auto mode = [&machine](const char* path) {
      return static_cast<unsigned>(fs::status(machine.root / path).permissions());
    };
    for (const char* const folder : {"usr/local", "usr/local/bin", "etc/sysctl.d", "etc/systemd/system"})
      CHECK(mode(folder) == 0755U);
    CHECK(mode("usr/local/bin/intel-gpu-exporter") == 0755U);
    CHECK(mode("etc/systemd/system/intel-gpu-exporter.service") == 0644U);
    CHECK(mode("etc/intel-gpu-exporter.setup") == 0644U);
  }
}

TEST_CASE("setup runs the system's programs, not those that its caller's PATH has first") {
  const igpu::test::ScratchFolder folder;
  const std::string planted = folder.path("true");
  std::ofstream(planted) << "#!/bin/sh\nexit 7\n";
  fs::permissions(planted, fs::perms(0755));
  const char* const path = std::getenv("PATH");
  const std::string before = path == nullptr ? "" : path;
  ::setenv("PATH", folder.path("").c_str(), 1);
  const int status = run_system_program({"true"});
  ::setenv("PATH", before.c_str(), 1);
  CHECK(status == 0);
  CHECK(run_system_program({"sh", "-c", "true && test -z \"$HOME\""}) == 0);
  CHECK(run_system_program({"intel-gpu-exporter-is-no-such-program"}) == 127);
}

TEST_SUITE_END();
