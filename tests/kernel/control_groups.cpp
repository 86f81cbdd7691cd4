// SPDX-License-Identifier: Apache-2.0
#include "kernel/control_groups.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <thread>

#include "igpu/unique_fd.h"

namespace igpu::test {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

// An ended process leaves its group within microseconds, on a busy machine within milliseconds.
constexpr auto kRemovalTimeout = 15s;

// Version 2 first; then the hierarchy in which systemd keeps its units under version 1.
std::vector<std::string> hierarchies() {
  std::vector<std::string> unified, named;
  std::ifstream file("/proc/self/mounts");
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    std::string device, mount, type, options;
    fields >> device >> mount >> type >> options;
    if (type == "cgroup2") unified.push_back(mount);
    if (type == "cgroup" && options.find("name=systemd") != std::string::npos) named.push_back(mount);
  }
  unified.insert(unified.end(), named.begin(), named.end());
  return unified;
}

// ENOENT: the groups that this process sees do not contain its own.
bool is_refusal(int error) { return error == EACCES || error == EPERM || error == EROFS || error == ENOENT; }

// 0 or the error.
int write_text(const std::string& path, std::string_view text) {
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (file.get() < 0) return errno;
  return ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) ? 0 : errno;
}

int move_process(const std::string& group, const ShortProcess& process) {
  return write_text(group + "/cgroup.procs", std::to_string(process.pid()));
}

std::vector<pid_t> processes_in(const std::string& group) {
  std::vector<pid_t> pids;
  std::ifstream file(group + "/cgroup.procs");
  for (pid_t pid = 0; file >> pid;) pids.push_back(pid);
  return pids;
}

// A group and all below it, the inner ones first.
std::vector<std::string> subtree(const std::string& group) {
  std::vector<std::string> found{group};
  std::error_code error;
  for (fs::recursive_directory_iterator entry(group, error), end; !error && entry != end; entry.increment(error))
    if (entry->is_directory(error)) found.push_back(entry->path().string());
  std::reverse(found.begin(), found.end());
  return found;
}

// The PID and the state of each process in a subtree.
std::string description_of_processes(const std::string& root) {
  std::string text;
  for (const std::string& group : subtree(root)) {
    for (const pid_t pid : processes_in(group)) {
      std::string stat;
      std::getline(std::ifstream("/proc/" + std::to_string(pid) + "/stat"), stat);
      text += "; in " + group + ": " + stat.substr(0, 60);
    }
  }
  return text.empty() ? "; no process is in it" : text;
}

// Until it succeeds, meets another error than EBUSY, or the time is over: 0 or the error.
int remove_group(const std::string& group, std::chrono::steady_clock::time_point end) {
  while (::rmdir(group.c_str()) != 0 && errno != ENOENT) {
    if (errno != EBUSY || std::chrono::steady_clock::now() >= end) return errno;
    std::this_thread::sleep_for(5ms);
  }
  return 0;
}

void kill_processes(const std::string& root) {
  if (write_text(root + "/cgroup.kill", "1") == 0) return;  // version 2, Linux 5.14 or newer
  for (const std::string& group : subtree(root))
    for (const pid_t pid : processes_in(group)) ::kill(pid, SIGKILL);
}

// What runs in it is killed. Its parent reaps it; a group with zombies alone can be removed.
int remove_subtree(const std::string& root) {
  const auto end = std::chrono::steady_clock::now() + kRemovalTimeout;
  for (;;) {
    kill_processes(root);
    int error = 0;
    for (const std::string& group : subtree(root))
      if (::rmdir(group.c_str()) != 0 && errno != ENOENT) error = errno;
    if (error == 0 || std::chrono::steady_clock::now() >= end) return error;
    std::this_thread::sleep_for(5ms);
  }
}

}  // namespace

ControlGroups::ControlGroups() {
  const ShortProcess trial({"sleep"});
  for (const std::string& mount : hierarchies()) {
    const std::string reason = take(mount, trial);
    if (reason.empty()) return;
    why_not_ += (why_not_.empty() ? "" : "; ") + mount + ": " + reason;
  }
  if (why_not_.empty()) why_not_ = "no hierarchy of control groups is mounted";
}

// Makes the root of the subtree and tries it with a process, because a group that can be made may still refuse all.
std::string ControlGroups::take(const std::string& mount, const ShortProcess& trial) {
  std::string path = mount + "/igpu-test-XXXXXX";
  int error = ::mkdtemp(path.data()) == nullptr ? errno : 0;
  if (error == 0) {
    error = move_process(path, trial);
    if (error == 0) {
      root_ = path;
      return "";
    }
    if (::rmdir(path.c_str()) != 0) FAIL_CHECK(path << " is left: " << std::strerror(errno));
  }
  const std::string reason = std::strerror(error);
  if (!is_refusal(error)) FAIL_CHECK("control groups in " << mount << " can be changed, but not used: " << reason);
  return reason;
}

ControlGroups::~ControlGroups() {
  if (root_.empty()) return;
  if (const int error = remove_subtree(root_); error != 0)
    FAIL_CHECK(root_ << " is left: " << std::strerror(error) << description_of_processes(root_));
}

std::string ControlGroups::make(const std::string& name) const {
  std::string path = root_;
  std::string_view rest = name;
  while (!rest.empty()) {
    const std::size_t slash = rest.find('/');
    path += "/" + std::string(rest.substr(0, slash));
    rest = slash == std::string_view::npos ? std::string_view() : rest.substr(slash + 1);
    if (::mkdir(path.c_str(), 0755) != 0 && errno != EEXIST) FAIL(path << ": " << std::strerror(errno));
  }
  return path;
}

void ControlGroups::move(const std::string& group, const ShortProcess& process) {
  if (const int error = move_process(group, process); error != 0) FAIL(group << ": " << std::strerror(error));
}

void ControlGroups::remove(const std::string& group) {
  if (const int error = remove_group(group, std::chrono::steady_clock::now() + kRemovalTimeout); error != 0)
    FAIL(group << " is left: " << std::strerror(error) << description_of_processes(group));
}

}  // namespace igpu::test
