// SPDX-License-Identifier: Apache-2.0
#include "source/process.h"

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/scan.h"

namespace igpu {
namespace {

// USER_HZ: what times in /proc are counted in, whatever the kernel's own tick is.
constexpr double kTicksPerSecond = 100;
constexpr double kPageSize = 4096;  // x86
constexpr std::size_t kContainerIdLength = 64;

bool is_lower_hex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }
bool is_lower_hex(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return is_lower_hex(c); });
}

// "<id>", "docker-<id>.scope", "cri-containerd-<id>.scope", "kubepods-...slice:cri-containerd:<id>", "libpod-<id>".
std::string_view container_id_of(std::string_view component) {
  // The monitor of a container stands beside it, under the same id.
  if (component.find("conmon-") != std::string_view::npos) return {};
  constexpr std::string_view kScope = ".scope";
  if (component.ends_with(kScope)) component.remove_suffix(kScope.size());
  if (component.size() < kContainerIdLength) return {};
  const std::size_t at = component.size() - kContainerIdLength;
  if (at > 0 && component[at - 1] != '-' && component[at - 1] != ':') return {};
  const std::string_view id = component.substr(at);
  return is_lower_hex(id) ? id : std::string_view{};
}

// 8-4-4-4-12 hex digits parted by "-" or "_"; or 32 digits in a row (static pods: a hash of their manifest).
std::string pod_uid_at(std::string_view text) {
  constexpr std::size_t kUuid = 36;
  constexpr std::size_t kHash = 32;
  const auto ends_at = [&](std::size_t n) { return text.size() == n || text.substr(n).starts_with(".slice"); };
  if (text.size() >= kUuid && ends_at(kUuid)) {
    std::string uid(text.substr(0, kUuid));
    bool good = true;
    for (std::size_t i = 0; i < kUuid; ++i) {
      if (i == 8 || i == 13 || i == 18 || i == 23) {
        good = good && (uid[i] == '-' || uid[i] == '_');
        uid[i] = '-';
      } else {
        good = good && is_lower_hex(uid[i]);
      }
    }
    if (good) return uid;
  }
  if (text.size() >= kHash && ends_at(kHash) && is_lower_hex(text.substr(0, kHash)))
    return std::string(text.substr(0, kHash));
  return {};
}

// "pod<uid>", "kubepods-burstable-pod<uid>.slice".
std::string pod_uid_of(std::string_view component) {
  for (std::size_t at = component.find("pod"); at != std::string_view::npos; at = component.find("pod", at + 1)) {
    if (at > 0 && component[at - 1] != '-') continue;
    if (std::string uid = pod_uid_at(component.substr(at + 3)); !uid.empty()) return uid;
  }
  return {};
}

bool has_container(std::string_view path) {
  while (!path.empty())
    if (!container_id_of(take_until(path, '/')).empty()) return true;
  return false;
}

}  // namespace

std::optional<ProcessStat> parse_process_stat(std::string_view text) {
  // pid (comm) S ...: comm may hold anything, but nothing after it holds a parenthesis.
  const std::size_t open = text.find('(');
  const std::size_t close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return std::nullopt;
  ProcessStat stat;
  stat.comm = text.substr(open + 1, close - open - 1);

  // proc_pid_stat(5) numbers the fields from 1; after comm follows field 3.
  constexpr std::size_t kFirst = 3, kUtime = 14, kStime = 15, kStartTime = 22, kVsize = 23, kRss = 24;
  std::array<std::string_view, kRss - kFirst + 1> fields;
  std::string_view rest = trim(text.substr(close + 1));
  for (std::string_view& field : fields) field = take_until(rest, ' ');
  const auto number = [&](std::size_t field) { return scan_u64(fields[field - kFirst]); };

  const auto utime = number(kUtime), stime = number(kStime), start = number(kStartTime), vsize = number(kVsize);
  const auto rss = scan_i64(fields[kRss - kFirst]);
  if (!utime || !stime || !start || !vsize || !rss) return std::nullopt;
  stat.start_time_ticks = *start;
  stat.cpu = Seconds{(static_cast<double>(*utime) + static_cast<double>(*stime)) / kTicksPerSecond};
  stat.virtual_size = Bytes{static_cast<double>(*vsize)};
  stat.resident = Bytes{static_cast<double>(std::max<std::int64_t>(*rss, 0)) * kPageSize};
  return stat;
}

std::optional<std::uint32_t> parse_status_uid(std::string_view text) {
  while (!text.empty()) {
    std::string_view line = take_line(text);
    if (take_until(line, ':') != "Uid") continue;
    line = trim(line);  // real, effective, saved, file system
    take_until(line, '\t');
    return scan_integer<std::uint32_t>(take_until(line, '\t'));
  }
  return std::nullopt;
}

CgroupFacts facts_of_cgroup(std::string_view path) {
  CgroupFacts facts;
  while (!path.empty()) {
    const std::string_view component = take_until(path, '/');
    if (component.empty()) continue;
    if (const auto id = container_id_of(component); !id.empty()) facts.container_id = id;
    // containerd below systemd joins slice, prefix and id with colons.
    std::string_view slice = component;
    if (std::string uid = pod_uid_of(take_until(slice, ':')); !uid.empty()) facts.pod_uid = std::move(uid);
    if (component.ends_with(".service") || component.ends_with(".scope")) facts.systemd_unit = component;
  }
  return facts;
}

std::string_view telling_cgroup(std::string_view text) {
  std::string_view root, unified, systemd, any, container;
  while (!text.empty()) {
    std::string_view line = take_line(text);
    const std::string_view hierarchy = take_until(line, ':');
    const std::string_view controllers = take_until(line, ':');
    std::string_view path = line;
    constexpr std::string_view kDeleted = " (deleted)";
    if (path.ends_with(kDeleted)) path.remove_suffix(kDeleted.size());
    if (path.empty() || path.front() != '/') continue;
    if (path == "/") {
      root = path;
      continue;
    }
    if (hierarchy == "0" && controllers.empty()) {
      unified = path;
    } else if (controllers == "name=systemd") {
      systemd = path;
    }
    if (any.empty()) any = path;
    if (container.empty() && has_container(path)) container = path;
  }
  if (!container.empty()) return !unified.empty() && has_container(unified) ? unified : container;
  if (!unified.empty()) return unified;
  if (!systemd.empty()) return systemd;
  return any.empty() ? root : any;
}

const std::string& UserNames::name(std::uint32_t uid, Nanoseconds now) {
  constexpr Nanoseconds kKeep = std::chrono::minutes(10);
  constexpr std::size_t kMany = 4096;
  if (now - since_ > kKeep || known_.size() > kMany) {
    known_.clear();
    since_ = now;
  }
  auto it = known_.find(uid);
  if (it == known_.end()) {
    std::string name = names_.user(uid);
    if (name.empty()) name = std::to_string(uid);
    it = known_.emplace(uid, std::move(name)).first;
  }
  return it->second;
}

Reading<ClientProcess> read_process(const Directory& directory, std::uint32_t pid, UserNames& users, Nanoseconds now) {
  std::array<char, 16384> buffer;  // a cgroup file of version 1 has a dozen long lines
  const auto stat_text = directory.read_start("stat", buffer);
  if (!stat_text) return stat_text.propagate<ClientProcess>();
  const auto stat = parse_process_stat(*stat_text);
  if (!stat) return Absent{Reason::kernel, ESRCH};  // empty: it has gone in between

  ClientProcess process;
  process.pid = pid;
  process.start_time_ticks = stat->start_time_ticks;
  process.comm = stat->comm;
  process.cpu = stat->cpu;
  process.resident = stat->resident;
  process.virtual_size = stat->virtual_size;

  if (const auto status = directory.read_start("status", buffer))
    if (const auto uid = parse_status_uid(*status)) process.user = users.name(*uid, now);
  if (const auto cgroup = directory.read("cgroup", buffer)) {
    process.cgroup = telling_cgroup(*cgroup);
    CgroupFacts facts = facts_of_cgroup(process.cgroup);
    process.container_id = facts.container_id;
    process.pod_uid = std::move(facts.pod_uid);
    process.systemd_unit = facts.systemd_unit;
  }
  return process;
}

}  // namespace igpu
