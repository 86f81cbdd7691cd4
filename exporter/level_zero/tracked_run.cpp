// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <span>
#include <stdexcept>
#include <system_error>

#include "level_zero/report.h"
#include "platform/own_process.h"
#include "platform/regular_file.h"

extern char** environ;

namespace igpu::exporter {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLayer = "libze_validation_layer.so.1";
constexpr std::array<const char*, 3> kTrackerFiles = {kLayer, "liblevel_zero_preload.so", "liblevel_zero_audit.so"};

std::string environment_value(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

class ProgramEnvironment {
 public:
  ProgramEnvironment() {
    for (char** variable = environ; *variable != nullptr; ++variable) variables_.emplace_back(*variable);
  }
  void set(const std::string& name, const std::string& value) {
    std::erase_if(variables_, [&](const std::string& variable) { return variable.starts_with(name + "="); });
    variables_.push_back(name + "=" + value);
  }
  std::vector<char*> pointers() {
    std::vector<char*> all;
    for (std::string& variable : variables_) all.push_back(variable.data());
    all.push_back(nullptr);
    return all;
  }

 private:
  std::vector<std::string> variables_;
};

bool may_write(const std::string& folder) { return ::access(folder.c_str(), W_OK | X_OK) == 0; }

// Where the shell would find it; "" if nowhere.
std::string found(const std::string& program) {
  if (program.find('/') != std::string::npos) return program;
  const std::string path = environment_value("PATH");
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find(':', begin), path.size());
    const std::string candidate = path.substr(begin, end - begin) + "/" + program;
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
    begin = end + 1;
  }
  return {};
}

std::vector<std::string> warnings_before(const std::string& program) {
  std::vector<std::string> warnings;
  if (!environment_value("ZEL_LIBRARY_PATH").empty())
    warnings.emplace_back(
        "ZEL_LIBRARY_PATH is set: the loader searches its layers only there and does not find the tracker");
  const std::string file = found(program);
  struct stat status {};
  if (::stat(file.c_str(), &status) == 0 && (status.st_mode & (S_ISUID | S_ISGID)) != 0)
    warnings.emplace_back(program +
                          " is set-user-id or set-group-id: the dynamic linker ignores LD_LIBRARY_PATH for it");
  if (::getxattr(file.c_str(), "security.capability", nullptr, 0) > 0)
    warnings.emplace_back(program + " has file capabilities: the dynamic linker ignores LD_LIBRARY_PATH for it");
  return warnings;
}

// Ctrl-C is for the program; what it left is reported after that.
class SignalsIgnored {
 public:
  SignalsIgnored() {
    for (std::size_t i = 0; i < kSignals.size(); ++i) before_[i] = ::signal(kSignals[i], SIG_IGN);
  }
  ~SignalsIgnored() {
    for (std::size_t i = 0; i < kSignals.size(); ++i) ::signal(kSignals[i], before_[i]);
  }
  SignalsIgnored(const SignalsIgnored&) = delete;
  SignalsIgnored& operator=(const SignalsIgnored&) = delete;

 private:
  static constexpr std::array<int, 2> kSignals = {SIGINT, SIGQUIT};
  std::array<void (*)(int), kSignals.size()> before_{};
};

int run_and_wait(const std::vector<std::string>& program, ProgramEnvironment& environment) {
  const SignalsIgnored ignored;
  return wait_for_exit(spawn(program, environment.pointers().data(), {SIGINT, SIGQUIT}));
}

// The tracker holds a lock on its page for as long as the program lives.
bool is_locked(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return false;
  struct ::flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_len = 1;
  const bool locked = ::fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
  ::close(fd);
  return locked;
}

std::vector<LevelZeroProcess> processes_in(const std::string& list, std::vector<std::string>& warnings) {
  std::vector<LevelZeroProcess> processes;
  std::ifstream names(list);
  for (std::string path; std::getline(names, path);) {
    try {
      const bool alive = is_locked(path);
      const std::string page = read_regular_file(path, kLargestPage);
      auto process = describe_level_zero_page(std::as_bytes(std::span(page)));
      if (!process) {
        warnings.push_back(path + " is not a page");
        continue;
      }
      process->file = path;
      process->alive = alive;
      processes.push_back(std::move(*process));
    } catch (const FileError& error) {
      warnings.push_back(path + ": " + error.what());
    }
  }
  return processes;
}

std::vector<std::string> files_with_prefix(const std::string& folder, const std::string& prefix) {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().filename().string().starts_with(prefix)) files.push_back(entry.path().string());
  return files;
}

}  // namespace

std::string tracker_folder() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (error) return {};
  for (const fs::path& folder :
       {self.parent_path() / "../level-zero", self.parent_path() / "../lib/intel-gpu-exporter/level-zero"}) {
    if (fs::exists(folder / kLayer, error)) return fs::canonical(folder, error).string();
  }
  return {};
}

void install_tracker(const std::string& folder) {
  const std::string tracker = tracker_folder();
  if (tracker.empty()) throw std::runtime_error(std::string(kLayer) + " is not installed beside this program");
  try {
    fs::create_directories(folder);
    for (const char* const file : kTrackerFiles) {
      const fs::path temporary = fs::path(folder) / (std::string(".") + file);
      fs::copy_file(fs::path(tracker) / file, temporary, fs::copy_options::overwrite_existing);
      fs::permissions(temporary, fs::perms(0644));  // the applications run as other users
      fs::rename(temporary, fs::path(folder) / file);
    }
  } catch (const fs::filesystem_error& error) {
    throw std::runtime_error(folder + ": " + error.code().message());
  }
}

ScratchSpace::ScratchSpace() {
  const std::string parent = environment_value("TMPDIR");
  folder_ = (parent.empty() ? "/tmp" : parent) + "/level-zero-XXXXXX";
  if (::mkdtemp(folder_.data()) == nullptr)
    throw std::runtime_error(folder_ + ": " + std::generic_category().message(errno));
}

ScratchSpace::~ScratchSpace() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

TrackedRun run_tracked(const LevelZeroArguments& arguments, const std::string& folder, const ScratchSpace& scratch) {
  const std::string tracker = tracker_folder();
  if (tracker.empty()) throw std::runtime_error(std::string(kLayer) + " is not installed beside this program");
  TrackedRun run;
  run.warnings = warnings_before(arguments.program.front());
  const std::string list = scratch.path("pages");
  std::ofstream(list).flush();
  ProgramEnvironment environment;
  const std::string libraries = environment_value("LD_LIBRARY_PATH");
  environment.set("LD_LIBRARY_PATH", libraries.empty() ? tracker : tracker + ":" + libraries);
  environment.set("ZE_ENABLE_VALIDATION_LAYER", "1");
  environment.set("INTEL_GPU_EXPORTER_PATH_LEVEL_ZERO", may_write(folder) ? folder : scratch.folder());
  environment.set("INTEL_GPU_LEVEL_ZERO_PAGES", list);
  environment.set("INTEL_GPU_LEVEL_ZERO_STACKS", std::to_string(arguments.stacks));
  if (!arguments.csv.empty()) environment.set("INTEL_GPU_LEVEL_ZERO_CSV", fs::absolute(arguments.csv).string());
  if (!arguments.log.empty()) environment.set("INTEL_GPU_LEVEL_ZERO_LOG", fs::absolute(arguments.log).string());
  if (!arguments.report.empty()) {
    if (arguments.log.empty()) environment.set("INTEL_GPU_LEVEL_ZERO_LOG", scratch.path("log"));
    environment.set("INTEL_GPU_LEVEL_ZERO_LOG_MEMORY", "1");
  }
  run.status = run_and_wait(arguments.program, environment);
  run.processes = processes_in(list, run.warnings);
  if (run.processes.empty())
    run.warnings.push_back(arguments.program.front() +
                           " left no page: it does not use Level Zero, or the loader did not find the tracker");
  const fs::path log = arguments.log.empty() ? fs::path(scratch.path("log")) : fs::absolute(arguments.log);
  if (!arguments.report.empty()) run.logs = files_with_prefix(log.parent_path().string(), log.stem().string() + "_pid");
  return run;
}

}  // namespace igpu::exporter
