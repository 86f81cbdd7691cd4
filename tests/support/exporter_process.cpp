// SPDX-License-Identifier: Apache-2.0
#include "support/exporter_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <system_error>
#include <thread>

#include "support/paths.h"

extern char** environ;

namespace igpu::test {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kPause(5);

std::string temporary_path() {
  std::string path = "/tmp/igpu-exporter-log-XXXXXX";
  const int file = ::mkstemp(path.data());
  if (file < 0) throw std::system_error(errno, std::generic_category(), "mkstemp");
  ::close(file);
  return path;
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> list;
  for (std::string& string : strings) list.push_back(string.data());
  list.push_back(nullptr);
  return list;
}

}  // namespace

ExporterProcess::ExporterProcess(std::vector<std::string> arguments, std::vector<std::string> environment,
                                 std::vector<std::string> launcher)
    : log_path_(temporary_path()) {
  const auto is_address = [](const std::string& argument) { return argument.starts_with("--web.listen-address"); };
  const auto sets_address = [](const std::string& variable) {
    return variable.starts_with("INTEL_GPU_EXPORTER_WEB_LISTEN_ADDRESS=");
  };
  if (std::none_of(arguments.begin(), arguments.end(), is_address) &&
      std::none_of(environment.begin(), environment.end(), sets_address)) {
    arguments.emplace_back("--web.listen-address=127.0.0.1:0");
  }
  if (launcher.empty()) launcher = {exporter_binary()};  // else it ends with the exporter's own name
  arguments.insert(arguments.begin(), launcher.begin(), launcher.end());
  for (char** variable = environ; *variable != nullptr; ++variable) environment.emplace_back(*variable);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, log_path_.c_str(), O_WRONLY | O_APPEND, 0);
  std::vector<char*> argv = pointers(arguments);
  std::vector<char*> envp = pointers(environment);
  const int error = posix_spawnp(&pid_, argv[0], &actions, nullptr, argv.data(), envp.data());
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw std::system_error(error, std::generic_category(), argv[0]);

  const auto until = Clock::now() + std::chrono::seconds(20);
  while (addresses().empty()) {
    if (const auto status = wait(std::chrono::milliseconds(0))) {
      throw std::runtime_error("the exporter ended with status " + std::to_string(*status) + ":\n" + log());
    }
    if (Clock::now() > until) throw std::runtime_error("the exporter does not listen:\n" + log());
    std::this_thread::sleep_for(kPause);
  }
}

ExporterProcess::~ExporterProcess() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  ::unlink(log_path_.c_str());
}

std::string ExporterProcess::log() const {
  std::ifstream file(log_path_, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::vector<std::string> ExporterProcess::addresses() const {
  std::vector<std::string> found;
  const std::string text = log();
  constexpr std::string_view kStart = "msg=listening address=";
  constexpr std::string_view kJsonStart = "\"msg\":\"listening\",\"address\":\"";
  for (const std::string_view start : {kStart, kJsonStart}) {
    for (std::size_t at = text.find(start); at != std::string::npos; at = text.find(start, at + 1)) {
      const std::size_t begin = at + start.size();
      const std::size_t end = text.find_first_of(" \"\n", begin);
      if (end != std::string::npos) found.push_back(text.substr(begin, end - begin));
    }
  }
  return found;
}

std::uint16_t ExporterProcess::port() const {
  for (const std::string& address : addresses()) {
    if (address.starts_with("unix:")) continue;
    return static_cast<std::uint16_t>(std::stoul(address.substr(address.rfind(':') + 1)));
  }
  throw std::runtime_error("no TCP address:\n" + log());
}

void ExporterProcess::signal(int number) const {
  if (pid_ > 0) ::kill(pid_, number);  // never kill(-1)
}

std::optional<int> ExporterProcess::wait(std::chrono::milliseconds at_most) {
  const auto until = Clock::now() + at_most;
  for (;;) {
    int state = 0;
    if (::waitpid(pid_, &state, WNOHANG) == pid_) {
      pid_ = -1;
      return WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
    }
    if (Clock::now() >= until) return std::nullopt;
    std::this_thread::sleep_for(kPause);
  }
}

int ExporterProcess::stop(int signal_number) {
  signal(signal_number);
  return wait().value_or(-1);
}

}  // namespace igpu::test
