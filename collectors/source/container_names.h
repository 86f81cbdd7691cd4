// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "igpu/reading.h"
#include "igpu/units.h"
#include "machine/filesystem.h"

// Names of pods and containers, from what the host itself keeps in files; no API server and no engine is asked.
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
// What an engine calls a container: without Docker's "/", and of "k8s_<container>_<pod>_..." the container. "" for what
// is no name.
std::string plain_container_name(std::string_view name);

// Knows what it has read, and reads again when it is asked for somebody unknown: once per scan for somebody new, every
// ten seconds for those it was asked for in vain.
class ContainerNames {
 public:
  // root: the host's file system (--path.rootfs).
  explicit ContainerNames(const Directory& root) : root_(root) {}

  // From here on what is unknown may be searched once more.
  void begin_scan(Nanoseconds now);
  // Nothing if the host does not say.
  const PodName* pod(const std::string& uid);
  // pod_uid: of the pod that it belongs to, or "". "" if the host does not say.
  const std::string& container(const std::string& id, const std::string& pod_uid);

  // Why names of containers that were asked for are missing; nothing if none is.
  std::optional<Absent> why_missing() const;

 private:
  using NamesById = std::map<std::string, std::string, std::less<>>;

  void search_for(const std::string& id);
  void read_pods();
  void read_container_logs();
  void read_docker(const std::string& id);
  void read_storage(const std::string& folder);
  void read_storage_file(const std::string& path);
  void note(const Absent& absent);
  std::string only_container_of(const std::string& pod_uid) const;

  const Directory& root_;
  std::map<std::string, PodName, std::less<>> pods_;             // by uid
  std::map<std::string, std::string, std::less<>> pod_folders_;  // by uid
  NamesById containers_;                                         // by id; "" for those that were asked for in vain
  std::set<std::string, std::less<>> asked_;                     // in vain, by id and uid
  Nanoseconds now_{};
  std::optional<Nanoseconds> searched_;
  bool missing_ = false;
  bool denied_ = false;
};

}  // namespace igpu
