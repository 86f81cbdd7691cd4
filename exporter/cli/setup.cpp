// SPDX-License-Identifier: Apache-2.0
#include "setup/setup.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/output.h"

namespace igpu::exporter {
namespace {

int run_program(const std::vector<std::string>& words) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  pid_t child = 0;
  const int error = ::posix_spawnp(&child, arguments.front(), nullptr, nullptr, arguments.data(), environ);
  if (error != 0) return 127;  // as a shell says that the program is not there
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string without_service() {
  return "This machine runs neither systemd nor OpenRC. Keep the file where it survives a restart, and start it as\n"
         "root; it drops every right that it does not need:\n\n"
         "  intel-gpu-exporter serve\n";
}

}  // namespace

int setup_command(const Options& options) {
  const setup::Host host = setup::look_at_host("/");
  const std::vector<setup::Step> steps = options.setup.remove ? setup::plan_removal(host) : setup::plan_setup(host);
  if (steps.empty()) return print(options.setup.remove ? "setup has installed nothing here\n" : without_service());
  std::string lines;
  for (const setup::Step& step : steps) lines += step.shown() + "\n";
  if (options.setup.dry_run) return print(lines);
  if (::geteuid() != 0)
    throw std::runtime_error("setup needs root: sudo intel-gpu-exporter setup; --dry-run shows what it does");
  setup::carry_out(steps, host, "/proc/self/exe", run_program);
  return print(lines + (options.setup.remove ? "removed\n" : "done: curl localhost:10068/metrics\n"));
}

}  // namespace igpu::exporter
