// SPDX-License-Identifier: Apache-2.0
#include "setup/setup.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

#include "igpu/unique_fd.h"
#include "platform/own_process.h"
#include "platform/regular_file.h"
#include "setup/embedded/sysctl_file.h"
#include "setup/embedded/systemd_unit.h"

namespace igpu::exporter::setup {
namespace {

namespace fs = std::filesystem;
using Kind = Step::Kind;

constexpr const char* kProgram = "/usr/local/bin/intel-gpu-exporter";
constexpr const char* kRecord = "/etc/intel-gpu-exporter.setup";
constexpr const char* kUnit = "/etc/systemd/system/intel-gpu-exporter.service";
constexpr const char* kScript = "/etc/init.d/intel-gpu-exporter";
constexpr const char* kOpenRcLog = "/var/log/intel-gpu-exporter.log";  // as in the script
constexpr const char* kSysctl = "/etc/sysctl.d/60-intel-gpu-exporter.conf";
constexpr const char* kParanoid = "/proc/sys/kernel/perf_event_paranoid";
constexpr int kEnough = 2;  // CAP_PERFMON opens perf events up to this value

constexpr std::string_view kOpenRcScript = R"(#!/sbin/openrc-run
# Starts as root; the program itself drops every right that it does not need.
description="Prometheus exporter for Intel GPUs"
supervisor=supervise-daemon
command=/usr/local/bin/intel-gpu-exporter
error_log=/var/log/intel-gpu-exporter.log
depend() {
  need localmount
  after net
}
)";

fs::path on(const Host& host, std::string_view path) { return host.root / fs::path(path).relative_path(); }

bool exists(const Host& host, std::string_view path) {
  std::error_code error;
  return fs::exists(fs::symlink_status(on(host, path), error));
}

std::string content(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

template <std::size_t size>
std::string text_of(const std::array<unsigned char, size>& bytes) {
  return {bytes.begin(), bytes.end()};
}

// The package's unit with the program's place, and with the groups that this machine has: systemd does not start a
// service whose group is missing.
std::string unit_for(const Host& host) {
  std::istringstream lines(text_of(kSystemdUnit));
  std::string out;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("Documentation=")) continue;
    if (line.starts_with("ExecStart=")) line = std::string("ExecStart=") + kProgram;
    if (line.starts_with("SupplementaryGroups=")) {
      if (host.groups.empty()) continue;
      line = "SupplementaryGroups=";
      for (const std::string& group : host.groups) line += (line.back() == '=' ? "" : " ") + group;
    }
    out += line + "\n";
  }
  return out;
}

struct Record {
  std::vector<std::string> folders, files;  // that setup created
  std::string paranoid;                     // before setup; "": it was not changed
};

std::optional<Record> read_record(const Host& host) {
  if (!exists(host, kRecord)) return std::nullopt;
  Record record;
  std::istringstream lines(content(on(host, kRecord)));
  for (std::string line; std::getline(lines, line);) {
    const std::size_t space = line.find(' ');
    const std::string word = line.substr(0, space);
    const std::string rest = space == std::string::npos ? "" : line.substr(space + 1);
    if (word == "folder") record.folders.push_back(rest);
    if (word == "file") record.files.push_back(rest);
    if (word == "paranoid") record.paranoid = rest;
  }
  return record;
}

std::string text_of(const Record& record) {
  std::string text = "# What intel-gpu-exporter setup created; setup --remove takes it away.\n";
  for (const std::string& folder : record.folders) text += "folder " + folder + "\n";
  for (const std::string& file : record.files) text += "file " + file + "\n";
  if (!record.paranoid.empty()) text += "paranoid " + record.paranoid + "\n";
  return text;
}

void add_once(std::vector<std::string>& list, const std::string& entry) {
  if (std::ranges::find(list, entry) == list.end()) list.push_back(entry);
}

std::vector<Step> start_steps(const Host& host) {
  if (host.service == Host::Service::systemd) {
    if (!host.running) return {{.kind = Kind::run, .words = {"systemctl", "enable", "intel-gpu-exporter"}}};
    return {{.kind = Kind::run, .words = {"systemctl", "daemon-reload"}},
            {.kind = Kind::run, .words = {"systemctl", "enable", "intel-gpu-exporter"}},
            {.kind = Kind::run, .words = {"systemctl", "restart", "intel-gpu-exporter"}}};
  }
  if (host.service == Host::Service::openrc) {
    std::vector<Step> steps{{.kind = Kind::run, .words = {"rc-update", "add", "intel-gpu-exporter", "default"}}};
    if (host.running) steps.push_back({.kind = Kind::run, .words = {"rc-service", "intel-gpu-exporter", "restart"}});
    return steps;
  }
  return {};
}

std::vector<Step> stop_steps(const Host& host) {
  if (host.service == Host::Service::systemd) {
    std::vector<std::string> words{"systemctl", "disable"};
    if (host.running) words.emplace_back("--now");
    words.emplace_back("intel-gpu-exporter");
    return {{.kind = Kind::run, .words = words}};
  }
  if (host.service == Host::Service::openrc) {
    std::vector<Step> steps;
    if (host.running) steps.push_back({.kind = Kind::run, .words = {"rc-service", "intel-gpu-exporter", "stop"}});
    steps.push_back({.kind = Kind::run, .words = {"rc-update", "del", "intel-gpu-exporter", "default"}});
    return steps;
  }
  return {};
}

std::string error_text() { return std::generic_category().message(errno); }

[[noreturn]] void fail(const Step& step, const std::string& why) {
  throw std::runtime_error("cannot " + step.shown() + ": " + why);
}

// Folders that are missing, readable for everybody and writable for their owner whatever the umask is.
void make_folders(const Step& step, const fs::path& folder) {
  std::error_code error;
  if (folder.empty() || fs::is_directory(folder, error)) return;
  make_folders(step, folder.parent_path());
  constexpr mode_t kMode = 0755;
  if (::mkdir(folder.c_str(), kMode) != 0 || ::chmod(folder.c_str(), kMode) != 0) fail(step, error_text());
}

// Whole or not at all: a service that starts meanwhile finds the old file or the new one. The name of the new one is
// not known before: in a folder that others may write, as Debian's group staff /usr/local/bin, a link may wait there.
void replace(const Step& step, const fs::path& path, std::string_view text) {
  make_folders(step, path.parent_path());
  std::string fresh = path.parent_path() / ("." + path.filename().string() + ".XXXXXX");
  const UniqueFd file(::mkostemp(fresh.data(), O_CLOEXEC));
  if (!file) fail(step, error_text());
  try {
    if (write_all(file.get(), text) != 0 || ::fchmod(file.get(), step.mode) != 0 || ::fsync(file.get()) != 0 ||
        ::rename(fresh.c_str(), path.c_str()) != 0)
      fail(step, error_text());
  } catch (...) {
    ::unlink(fresh.c_str());
    throw;
  }
}

std::string whole_program(const Step& step, const fs::path& program) {
  std::string bytes = content(program);
  if (bytes.empty()) fail(step, "the program cannot be read");
  return bytes;
}

void set_value(const Step& step, const fs::path& path) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << step.text << '\n';
  file.close();
  if (!file) fail(step, "the file cannot be written");
}

}  // namespace

std::string Step::shown() const {
  switch (kind) {
    case Kind::write: return "write " + path;
    case Kind::copy_program: return "copy this program to " + path;
    case Kind::set_value: return "set " + path + " to " + text;
    case Kind::remove: return "remove " + path;
    case Kind::remove_folder: return "remove the folder " + path + " if it is empty";
    case Kind::run: break;
  }
  std::string line = "run";
  for (const std::string& word : words) line += " " + word;
  return line;
}

Host look_at_host(const fs::path& root) {
  Host host{.root = root};
  if (exists(host, "/run/systemd/system")) {
    host.service = Host::Service::systemd;
    host.running = true;
  } else if (exists(host, "/sbin/openrc-run") || exists(host, "/usr/bin/openrc-run")) {
    host.service = Host::Service::openrc;
    host.running = exists(host, "/run/openrc/softlevel");
  } else if (exists(host, "/usr/lib/systemd/systemd") || exists(host, "/lib/systemd/systemd")) {
    host.service = Host::Service::systemd;
  }
  std::istringstream groups(content(on(host, "/etc/group")));
  for (std::string line; std::getline(groups, line);) {
    const std::string name = line.substr(0, line.find(':'));
    if (name == "render" || name == "video") add_once(host.groups, name);
  }
  std::ranges::sort(host.groups);
  std::istringstream value(content(on(host, kParanoid)));
  if (int number = 0; value >> number) host.paranoid = number;
  return host;
}

std::vector<Step> plan_setup(const Host& host) {
  for (const char* unit :
       {"/lib/systemd/system/intel-gpu-exporter.service", "/usr/lib/systemd/system/intel-gpu-exporter.service"})
    if (exists(host, unit))
      throw std::runtime_error("a package of this machine has installed the service: remove it first, or use it");
  if (host.service == Host::Service::none) return {};
  Record record = read_record(host).value_or(Record{});
  std::vector<Step> files{{.kind = Kind::copy_program, .path = kProgram, .mode = 0755}};
  if (host.service == Host::Service::systemd)
    files.push_back({.kind = Kind::write, .path = kUnit, .text = unit_for(host)});
  else
    files.push_back({.kind = Kind::write, .path = kScript, .text = std::string(kOpenRcScript), .mode = 0755});
  const bool lower = host.paranoid && *host.paranoid > kEnough;
  if (lower || !record.paranoid.empty())
    files.push_back({.kind = Kind::write, .path = kSysctl, .text = text_of(kSysctlFile)});
  if (lower) record.paranoid = std::to_string(*host.paranoid);

  for (const Step& file : files) {
    for (fs::path folder = fs::path(file.path).parent_path(); folder != "/" && !exists(host, folder.string());
         folder = folder.parent_path())
      add_once(record.folders, folder.string());
    add_once(record.files, file.path);
  }
  if (host.service == Host::Service::openrc) add_once(record.files, kOpenRcLog);  // which the supervisor creates
  // First: a setup that fails half-way can be removed.
  std::vector<Step> steps{{.kind = Kind::write, .path = kRecord, .text = text_of(record)}};
  steps.insert(steps.end(), files.begin(), files.end());
  if (lower && host.running)
    steps.push_back({.kind = Kind::set_value, .path = kParanoid, .text = std::to_string(kEnough)});
  const std::vector<Step> start = start_steps(host);
  steps.insert(steps.end(), start.begin(), start.end());
  return steps;
}

std::vector<Step> plan_removal(const Host& host) {
  const std::optional<Record> record = read_record(host);
  if (!record) return {};
  std::vector<Step> steps;
  if (exists(host, kUnit) || exists(host, kScript)) steps = stop_steps(host);
  for (Step& step : steps) step.may_fail = true;
  for (const std::string& file : record->files) steps.push_back({.kind = Kind::remove, .path = file});
  if (!record->paranoid.empty() && host.paranoid == kEnough && host.running)
    steps.push_back({.kind = Kind::set_value, .path = kParanoid, .text = record->paranoid});
  // The deepest first.
  std::vector<std::string> folders = record->folders;
  std::ranges::sort(folders, [](const auto& a, const auto& b) { return a.size() > b.size(); });
  for (const std::string& folder : folders) steps.push_back({.kind = Kind::remove_folder, .path = folder});
  if (host.service == Host::Service::systemd && host.running)
    steps.push_back({.kind = Kind::run, .words = {"systemctl", "daemon-reload"}, .may_fail = true});
  steps.push_back({.kind = Kind::remove, .path = kRecord});
  return steps;
}

void carry_out(const std::vector<Step>& steps, const Host& host, const fs::path& program, const RunProgram& run) {
  for (const Step& step : steps) {
    const fs::path path = step.path.empty() ? fs::path() : on(host, step.path);
    std::error_code error;
    switch (step.kind) {
      case Kind::write: replace(step, path, step.text); break;
      case Kind::copy_program:
        if (fs::equivalent(program, path, error)) break;  // it was started from there
        replace(step, path, whole_program(step, program));
        break;
      case Kind::set_value: set_value(step, path); break;
      case Kind::remove:
        if (!fs::remove(path, error) && error) fail(step, error.message());
        break;
      case Kind::remove_folder:
        if (fs::remove(path, error); error && error != std::errc::directory_not_empty) fail(step, error.message());
        break;
      case Kind::run:
        if (const int status = run(step.words); status != 0 && !step.may_fail)
          fail(step, "it ended with status " + std::to_string(status));
    }
  }
}

int run_system_program(const std::vector<std::string>& words) {
  std::string path = "PATH=/usr/sbin:/usr/bin:/sbin:/bin";
  const std::array<char*, 2> environment{path.data(), nullptr};
  for (const char* const folder : {"/usr/sbin/", "/usr/bin/", "/sbin/", "/bin/"}) {
    std::vector<std::string> command = words;
    command.front().insert(0, folder);
    if (::access(command.front().c_str(), X_OK) != 0) continue;
    try {
      return wait_for_exit(spawn(std::move(command), environment.data(), {}));
    } catch (const std::runtime_error&) {
      break;  // a script without an interpreter, a program for another processor
    }
  }
  return 127;  // as a shell says that the program cannot be started
}

}  // namespace igpu::exporter::setup
