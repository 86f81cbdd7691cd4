// SPDX-License-Identifier: Apache-2.0
#include "kernel/clients/container_names.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <utility>
#include <vector>

#include "base/scan.h"
#include "igpu/json_strings.h"
#include "igpu/words.h"
#include "kernel/clients/cgroup_names.h"

namespace igpu {
namespace {

constexpr std::string_view kPodLogs = "var/log/pods";
constexpr std::string_view kContainerLogs = "var/log/containers";
constexpr std::string_view kDocker = "var/lib/docker/containers/";
constexpr std::string_view kStorage = "containers/storage/overlay-containers/";
constexpr std::string_view kHomes = "home";
constexpr std::array kStateFiles{"containers.json", "volatile-containers.json"};
constexpr std::size_t kLongestPodName = 253;  // of a DNS subdomain, which pods' names are
constexpr std::size_t kMostNames = 16384;
constexpr std::size_t kMostHomes = 256;
constexpr std::size_t kMostNamesOfHome = 1024;
constexpr std::size_t kLargestState = 4 << 20;
constexpr Nanoseconds kSearchAgain = std::chrono::seconds(10);

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= kLongestPodName &&
         std::ranges::all_of(text, [](char c) { return is_letter_or_digit(c) || c == '.' || c == '-' || c == '_'; });
}

bool is_container_id(std::string_view text) {
  return text.size() == kContainerIdLength && std::ranges::all_of(text, is_lower_hex);
}

}  // namespace

std::optional<PodFolder> parse_pod_folder(std::string_view name) {
  // Neither namespace nor pod nor uid contains "_".
  std::string_view rest = name;
  const std::string_view name_space = take_until(rest, '_');
  const std::string_view pod = take_until(rest, '_');
  if (!is_name(name_space) || !is_name(pod) || !is_name(rest) || rest.find('_') != std::string_view::npos)
    return std::nullopt;
  return PodFolder{{std::string(name_space), std::string(pod)}, std::string(rest)};
}

std::optional<ContainerLog> parse_container_log(std::string_view name) {
  constexpr std::string_view kLog = ".log";
  if (!name.ends_with(kLog)) return std::nullopt;
  name.remove_suffix(kLog.size());
  const std::string_view pod = take_until(name, '_');
  const std::string_view name_space = take_until(name, '_');
  if (!is_name(pod) || !is_name(name_space) || name.size() < kContainerIdLength + 2) return std::nullopt;
  const std::string_view id = name.substr(name.size() - kContainerIdLength);
  name.remove_suffix(kContainerIdLength);
  if (!name.ends_with('-') || !is_container_id(id)) return std::nullopt;
  name.remove_suffix(1);
  if (!is_name(name)) return std::nullopt;
  return ContainerLog{std::string(name), std::string(id)};
}

std::string plain_container_name(std::string_view name) {
  if (name.starts_with('/')) name.remove_prefix(1);
  constexpr std::string_view kKubernetes = "k8s_";
  if (name.starts_with(kKubernetes)) {
    name.remove_prefix(kKubernetes.size());
    name = name.substr(0, name.find('_'));
  }
  return is_name(name) ? std::string(name) : std::string();
}

void ContainerNames::begin_scan(Nanoseconds now) {
  now_ = now;
  missing_ = false;
  if (containers_.size() > kMostNames) containers_.clear();
  if (pods_.size() > kMostNames) {
    pods_.clear();
    pod_folders_.clear();
  }
  if (asked_.size() > kMostNames) asked_.clear();
}

const PodName* ContainerNames::pod(const std::string& uid) {
  auto it = pods_.find(uid);
  if (it == pods_.end()) {
    search_for(uid);
    it = pods_.find(uid);
  }
  if (it != pods_.end()) return &it->second;
  missing_ = true;
  return nullptr;
}

const std::string& ContainerNames::container(const std::string& id, const std::string& pod_uid,
                                             std::optional<std::uint32_t> user) {
  static const std::string nobody;
  const auto found = [&] {
    const auto it = containers_.find(id);
    return it == containers_.end() || it->second.empty() ? nullptr : &it->second;
  };
  if (!is_container_id(id)) return nobody;
  if (const std::string* name = found()) return *name;
  const bool only_user_may_know = containers_.contains(id);  // the host's own files have been asked
  if (const std::string* name = only_user_may_know ? name_by_user(user, id) : nullptr) return *name;
  search_for(id);
  if (const std::string* name = found()) return *name;
  // Read once per search: the file has everything that Docker knows about the container.
  if (const auto [asked, is_new] = containers_.try_emplace(id); is_new) {
    read_docker(id);
    if (asked->second.empty() && !pod_uid.empty()) asked->second = only_container_of(pod_uid);
  }
  if (const std::string* name = found()) return *name;
  if (const std::string* name = name_by_user(user, id)) return *name;
  missing_ = true;
  return nobody;
}

const std::string* ContainerNames::name_by_user(std::optional<std::uint32_t> user, const std::string& id) const {
  if (!user) return nullptr;
  const auto names = by_user_.find(*user);
  if (names == by_user_.end()) return nullptr;
  const auto name = names->second.find(id);
  return name == names->second.end() ? nullptr : &name->second;
}

std::optional<Absent> ContainerNames::why_missing() const {
  if (!missing_) return std::nullopt;
  // If the exporter runs in a container, a missing mount gives ENOENT, too.
  return denied_ ? Absent{Reason::permission, EACCES} : Absent{Reason::permission, ENOENT};
}

void ContainerNames::search_for(const std::string& id) {
  const bool is_new = !asked_.contains(id);
  if (searched_ && now_ - *searched_ < (is_new ? Nanoseconds(1) : kSearchAgain)) return;
  asked_.insert(id);
  searched_ = now_;
  denied_ = false;
  std::erase_if(containers_, [](const auto& entry) { return entry.second.empty(); });
  read_pods();
  read_container_logs();
  for (const char* file : kStateFiles) {
    const std::string path = "var/lib/" + std::string(kStorage) + file;
    read_state([&](std::span<char> buffer) { return root_.read(path, buffer); }, containers_, kMostNames);
  }
  read_homes();
}

// A home is whatever its user makes of it.
void ContainerNames::read_homes() {
  std::vector<std::string> homes;
  (void)root_.for_each(kHomes, [&](std::string_view user) {
    homes.emplace_back(user);
    return homes.size() < kMostHomes;
  });
  for (const std::string& user : homes) {
    const std::string home = std::string(kHomes) + "/" + user;
    const auto facts = root_.stat(home);
    const auto folder = root_.open_directory(home);
    if (folder.is_absent()) note(folder.absent());
    if (!facts || !folder) continue;
    NamesById& names = by_user_[facts->uid];
    if (names.size() >= kMostNamesOfHome) names.clear();
    for (const char* file : kStateFiles) {
      const std::string path = ".local/share/" + std::string(kStorage) + file;
      read_state([&](std::span<char> buffer) { return (*folder)->read_owned(path, facts->uid, buffer); }, names,
                 kMostNamesOfHome);
    }
  }
}

void ContainerNames::note(const Absent& absent) {
  if (absent.reason == Reason::permission) denied_ = true;
}

void ContainerNames::read_pods() {
  const auto listed = root_.for_each(kPodLogs, [this](std::string_view name) {
    if (auto folder = parse_pod_folder(name)) {
      pod_folders_.insert_or_assign(folder->uid, std::string(name));
      pods_.insert_or_assign(std::move(folder->uid), std::move(folder->pod));
    }
    return pods_.size() < kMostNames;
  });
  if (!listed && listed.is_absent()) note(listed.absent());
}

void ContainerNames::read_container_logs() {
  const auto listed = root_.for_each(kContainerLogs, [this](std::string_view name) {
    if (auto log = parse_container_log(name))
      containers_.insert_or_assign(std::move(log->id), std::move(log->container));
    return containers_.size() < kMostNames;
  });
  if (!listed && listed.is_absent()) note(listed.absent());
}

void ContainerNames::read_docker(const std::string& id) {
  const auto buffer = std::make_unique<char[]>(kLargestState);
  const auto text = root_.read(std::string(kDocker) + id + "/config.v2.json", {buffer.get(), kLargestState});
  if (!text) {
    if (text.is_absent()) note(text.absent());
    return;
  }
  visit_json_strings(*text, [&](std::span<const JsonStep> path, std::string_view value) {
    if (path.size() == 1 && path[0].key == "Name") containers_[id] = plain_container_name(value);
  });
}

void ContainerNames::read_state(const std::function<Reading<std::string_view>(std::span<char>)>& read, NamesById& into,
                                std::size_t most) {
  const auto buffer = std::make_unique_for_overwrite<char[]>(kLargestState);
  const auto text = read({buffer.get(), kLargestState});
  if (!text) {
    if (text.is_absent()) note(text.absent());
    return;
  }
  // [{"id": "...", "names": ["..."]}, ...], members in any order.
  struct Entry {
    std::string id;
    std::string name;
  };
  std::map<std::size_t, Entry> entries;
  visit_json_strings(*text, [&](std::span<const JsonStep> steps, std::string_view value) {
    if (steps.size() == 2 && steps[1].key == "id") entries[steps[0].index].id = value;
    if (steps.size() == 3 && steps[1].key == "names" && steps[2].index == 0)
      entries[steps[0].index].name = plain_container_name(value);
  });
  for (auto& [index, entry] : entries)
    if (is_container_id(entry.id) && !entry.name.empty() && into.size() < most)
      into.try_emplace(std::move(entry.id), std::move(entry.name));
}

// The pod's folder is enough to name the container of a pod with only one.
std::string ContainerNames::only_container_of(const std::string& pod_uid) const {
  const auto folder = pod_folders_.find(pod_uid);
  if (folder == pod_folders_.end()) return {};
  std::vector<std::string> names;
  (void)root_.for_each(std::string(kPodLogs) + "/" + folder->second, [&](std::string_view name) {
    names.emplace_back(name);
    return names.size() < 2;
  });
  return names.size() == 1 ? plain_container_name(names.front()) : std::string();
}

}  // namespace igpu
