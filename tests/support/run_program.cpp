// SPDX-License-Identifier: Apache-2.0
#include "support/run_program.h"

#include <spawn.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <system_error>

extern char** environ;

namespace igpu::test {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using TemporaryFile = std::unique_ptr<std::FILE, CloseFile>;

// Files, not pipes: neither side can block on the other.
TemporaryFile temporary_file() {
  TemporaryFile file(std::tmpfile());
  if (!file) throw std::system_error(errno, std::generic_category(), "tmpfile");
  return file;
}

}  // namespace

ProgramOutcome run_program(const std::vector<std::string>& arguments, std::string_view input) {
  const TemporaryFile in = temporary_file();
  const TemporaryFile out = temporary_file();
  if (!input.empty()) std::fwrite(input.data(), 1, input.size(), in.get());
  std::fflush(in.get());
  std::rewind(in.get());

  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, fileno(in.get()), 0);
  posix_spawn_file_actions_adddup2(&actions, fileno(out.get()), 1);
  posix_spawn_file_actions_adddup2(&actions, fileno(out.get()), 2);
  pid_t pid = -1;
  const int error = posix_spawnp(&pid, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error == ENOENT) return {127, arguments[0] + ": not found"};
  if (error != 0) throw std::system_error(error, std::generic_category(), arguments[0]);

  int state = 0;
  while (waitpid(pid, &state, 0) < 0 && errno == EINTR) {
  }
  ProgramOutcome outcome;
  outcome.status = WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
  std::rewind(out.get());
  char buffer[4096];
  for (std::size_t n; (n = std::fread(buffer, 1, sizeof(buffer), out.get())) > 0;) outcome.output.append(buffer, n);
  return outcome;
}

}  // namespace igpu::test
