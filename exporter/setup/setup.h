// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

// Installs this program as a service of the machine, and takes it away again. What a run created stands in a record
// below /etc, so that the removal removes that and nothing else.
namespace igpu::exporter::setup {

// What the machine has. Every path is below `root`, which is "/" except in tests.
struct Host {
  std::filesystem::path root = "/";
  enum class Service { systemd, openrc, none } service = Service::none;
  bool running = false;             // the service manager runs: services can be started now
  std::vector<std::string> groups;  // of render and video, those that exist
  std::optional<int> paranoid;      // kernel.perf_event_paranoid
};
Host look_at_host(const std::filesystem::path& root);

// One thing to do. Doing all steps of a plan twice is the same as doing them once.
struct Step {
  enum class Kind {
    write,          // path gets text
    copy_program,   // path gets this program
    set_value,      // path, a file of the kernel, gets text
    remove,         // path, if it is there
    remove_folder,  // path, if it is there and empty
    run,            // words
  } kind;
  std::string path = {};  // as on the machine, without Host::root
  std::string text = {};
  unsigned mode = 0644;
  std::vector<std::string> words = {};
  bool may_fail = false;  // a program: what it stops or disables may not be there

  std::string shown() const;  // "write /etc/...", "run systemctl daemon-reload"
};

// Throws std::runtime_error: a package has installed the program.
std::vector<Step> plan_setup(const Host& host);
// Empty: setup has not run.
std::vector<Step> plan_removal(const Host& host);

// Returns the exit status of a program.
using RunProgram = std::function<int(const std::vector<std::string>& words)>;
// Throws std::runtime_error with the step that failed and why.
void carry_out(const std::vector<Step>& steps, const Host& host, const std::filesystem::path& program,
               const RunProgram& run);

// A program of the system's own folders, which gets PATH with these folders and no other variable: setup runs as root,
// and what its caller has in PATH may be another user's.
int run_system_program(const std::vector<std::string>& words);

}  // namespace igpu::exporter::setup
