// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "igpu/reading.h"
#include "igpu/units.h"
#include "machine/filesystem.h"

// Names of pods and containers from files on the host, without requests to an API server or a container engine.
//   /var/log/pods/<namespace>_<pod>_<uid>/<container>/                 kubelet
//   /var/log/containers/<pod>_<namespace>_<container>-<id>.log         kubelet
//   /var/lib/docker/containers/<id>/config.v2.json                     Docker (root only)
//   <storage>/overlay-containers/[volatile-]containers.json            Podman and CRI-O: /var/lib/containers/storage
//                                                                      (root only), ~/.local/share/containers/storage
namespace igpu {

struct PodName {
  std::string name_space;
  std::string name;
};
// "<namespace>_<pod>_<uid>".
struct PodFolder {
  PodName pod;
  std::string uid;
};
std::optional<PodFolder> parse_pod_folder(std::string_view name);
// "<pod>_<namespace>_<container>-<id>.log".
struct ContainerLog {
  std::string container;
  std::string id;
};
std::optional<ContainerLog> parse_container_log(std::string_view name);
// A container's name as its engine gives it: without Docker's "/", and only the container's part of
// "k8s_<container>_<pod>_...". "" if it is not a name.
std::string plain_container_name(std::string_view name);

// Caches the names. Searches again for unknown ids: for a new id once per scan, for ids that were not found every ten
// seconds.
class ContainerNames {
 public:
  // root: the host's file system (--path.rootfs).
  explicit ContainerNames(const Directory& root) : root_(root) {}

  // Starts a scan: unknown ids may be searched once more.
  void begin_scan(Nanoseconds now);
  // The pod with this uid; null if the host has no name for it.
  const PodName* pod(const std::string& uid);
  // The name of a container; "" if the host has none. pod_uid: its pod's, or "". user: in whose session its control
  // group is (cgroup_names.h); only then that user's own files name it, and only if no file of the host does.
  const std::string& container(const std::string& id, const std::string& pod_uid,
                               std::optional<std::uint32_t> user = std::nullopt);

  // Why requested names of containers are missing; nullopt if none is.
  std::optional<Absent> why_missing() const;

 private:
  using NamesById = std::map<std::string, std::string, std::less<>>;

  void search_for(const std::string& id);
  void read_pods();
  void read_container_logs();
  void read_docker(const std::string& id);
  void read_homes();
  // A file of Podman's storage.
  void read_state(const std::function<Reading<std::string_view>(std::span<char>)>& read, NamesById& into,
                  std::size_t most);
  const std::string* name_by_user(std::optional<std::uint32_t> user, const std::string& id) const;
  void note(const Absent& absent);
  std::string only_container_of(const std::string& pod_uid) const;

  const Directory& root_;
  std::map<std::string, PodName, std::less<>> pods_;             // by uid
  std::map<std::string, std::string, std::less<>> pod_folders_;  // by uid
  NamesById containers_;                                         // by id; "" for those that were not found
  std::map<std::uint32_t, NamesById> by_user_;                   // from the files of users' homes
  std::set<std::string, std::less<>> asked_;                     // not found, by id and uid
  Nanoseconds now_{};
  std::optional<Nanoseconds> searched_;
  bool missing_ = false;
  bool denied_ = false;
};

}  // namespace igpu
