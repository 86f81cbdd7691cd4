// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>
#include <string>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/usage_error.h"
#include "platform/build_info.h"
#include "setup/static_file/documents.h"

namespace igpu::exporter {
namespace {

std::string text_of(const std::string& name, const std::string& unknown) {
  std::string text = document(name);
  if (text.empty()) throw UsageError(unknown);
  return text;
}

}  // namespace

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
