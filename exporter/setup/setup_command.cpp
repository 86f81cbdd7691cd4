// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "cli/options.h"
#include "cli/output.h"
#include "platform/own_process.h"
#include "setup/setup.h"
#include "setup/static_file/documents.h"

namespace igpu::exporter {
namespace {

std::string without_service() {
  return "This machine runs neither systemd nor OpenRC. Keep the file where it survives a restart, and start it as\n"
         "root; it drops every right that it does not need:\n\n"
         "  intel-gpu-exporter serve\n";
}

std::string text_of(const std::string& name, const std::string& unknown) {
  std::string text = document(name);
  if (text.empty()) throw UsageError(unknown);
  return text;
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
  setup::carry_out(steps, host, "/proc/self/exe", setup::run_system_program);
  return print(lines + (options.setup.remove ? "removed\n" : "done: curl localhost:10068/metrics\n"));
}

int completion(const Options& options) {
  const std::string& shell = options.operands.front();
  const std::string unknown = shell + " is not a shell with a completion: bash, zsh or fish";
  const std::string name(kProgramName);
  return print(text_of(shell == "zsh" ? "_" + name : name + "." + shell, unknown));
}

int man(const Options& options) {
  std::string name(kProgramName);
  if (!options.operands.empty()) name += "-" + options.operands.front();
  return print(text_of(name + ".1", "no command has this name"));
}

}  // namespace igpu::exporter
