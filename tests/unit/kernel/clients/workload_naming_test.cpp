// SPDX-License-Identifier: Apache-2.0
#include "kernel/clients/workload_naming.h"

#include <doctest/doctest.h>

#include <memory>
#include <string>

#include "kernel/clients/cgroup_names.h"
#include "support/machine_tree.h"
#include "support/utf8.h"

using namespace igpu;
using namespace std::chrono_literals;

namespace {

const std::string kId = "3f4a1d9b7c0e5a6f8b2d4c1e9f7a0b3c5d6e8f1a2b4c7d9e0f1a3b5c7d9e1f20";
const std::string kUid = "2c48913c-b29f-11e7-9350-020968147796";
const std::string kPod = "/kubepods/burstable/pod" + kUid + "/" + kId;
const std::string kDocker = "/system.slice/docker-" + kId + ".scope";

// As the client walk finds it.
ClientProcess process_in(const std::string& cgroup, const std::string& comm = "ffmpeg") {
  ClientProcess process;
  process.pid = 7;
  process.comm = comm;
  process.user = "video";
  process.cgroup = cgroup;
  const CgroupNames names = names_of_cgroup(process.cgroup);
  process.container_id = names.container_id;
  process.pod_uid = names.pod_uid;
  process.systemd_unit = names.systemd_unit;
  return process;
}

WorkloadLabels labels(WorkloadBy by, const std::string& cgroup, ContainerNames* names = nullptr) {
  WorkloadNaming naming(by, names);
  const ClientProcess process = process_in(cgroup);
  return naming.labels_of({process});
}
std::string name(WorkloadBy by, const std::string& cgroup, ContainerNames* names = nullptr) {
  const WorkloadLabels found = labels(by, cgroup, names);
  return found.kind + ": " + found.workload;
}

}  // namespace

TEST_SUITE_BEGIN("workload naming");

TEST_CASE("without names, ids stand in for them") {
  using enum WorkloadBy;
  CHECK(name(pod, kPod) == "pod: " + kUid);
  CHECK(name(container, kPod) == "container: " + kUid + "/3f4a1d9b7c0e");
  CHECK(name(pod, kDocker) == "container: 3f4a1d9b7c0e");
  CHECK(name(systemd_unit, kDocker) == "systemd_unit: docker-" + kId + ".scope");
  CHECK(name(comm, kDocker) == "comm: ffmpeg");
  CHECK(name(user, kDocker) == "user: video");
  CHECK(name(pod, "/system.slice/packager@7.service") == "systemd_unit: packager@7.service");
  CHECK(name(container, "/system.slice/packager@7.service") == "systemd_unit: packager@7.service");
  CHECK(name(pod, "/") == "comm: ffmpeg");
  CHECK(name(pod, "/lxc.payload.media/system.slice/jellyfin.service") == "container: media");
  CHECK(name(pod, "/machine.slice/machine-qemu\\x2d12\\x2dwin.scope") == "container: win");
}

TEST_CASE("names that the host shows") {
  test::MachineTree tree;
  tree.write("var/log/pods/media_jellyfin_" + kUid + "/transcoder/0.log", "");
  tree.write("var/lib/docker/containers/" + kId + "/config.v2.json", R"({"Name":"/packager"})");
  const auto root = open_root(tree.path("."));
  ContainerNames names(*root);
  names.begin_scan(100s);
  const WorkloadLabels pod = labels(WorkloadBy::pod, kPod, &names);
  CHECK(pod.workload == "media/jellyfin");
  CHECK(pod.name_space == "media");
  CHECK(pod.pod == "jellyfin");
  CHECK(pod.pod_uid == kUid);
  CHECK(pod.container == "");
  const WorkloadLabels docker = labels(WorkloadBy::container, kDocker, &names);
  CHECK(docker.workload == "packager");
  CHECK(docker.container == "packager");
  CHECK(docker.container_id == kId);
  CHECK(docker.systemd_unit == "docker-" + kId + ".scope");
}

TEST_CASE("by container within a pod, both are named") {
  test::MachineTree tree;
  tree.write("var/log/pods/media_jellyfin_" + kUid + "/transcoder/0.log", "");
  const auto root = open_root(tree.path("."));
  ContainerNames names(*root);
  names.begin_scan(100s);
  CHECK(name(WorkloadBy::container, kPod, &names) == "container: media/jellyfin/transcoder");
}

TEST_CASE("rules come first, and what none of them matches is grouped as usual") {
  WorkloadNaming naming(WorkloadBy::pod, nullptr);
  const ClientProcess process = process_in("/system.slice/x.service");
  const std::string ancestors[] = {"sh", "packager-news"};
  CHECK_FALSE(naming.needs_ancestors());
  naming.use(std::make_shared<const WorkloadRules>(
      WorkloadRules{{.name = "channel {ancestor:1}", .ancestor = {"packager-*"}}}));
  CHECK(naming.needs_ancestors());
  CHECK_FALSE(naming.needs_exe());
  const WorkloadLabels found = naming.labels_of({process, "", ancestors});
  CHECK(found.workload == "channel news");
  CHECK(found.kind == "rule");
  CHECK(naming.labels_of({process}).workload == "x.service");
  naming.use(std::make_shared<const WorkloadRules>(WorkloadRules{{.name = "{exe}", .comm = {"ff*"}}}));
  CHECK(naming.needs_exe());
  CHECK(naming.labels_of({process, "/usr/bin/ffmpeg"}).workload == "/usr/bin/ffmpeg");
  naming.use(nullptr);
  CHECK(naming.labels_of({process}).workload == "x.service");
}

TEST_CASE("a name is valid UTF-8 of bounded length, and none of the reserved ones") {
  CHECK(workload_name("a\xff", "comm") == "a\ufffd");
  CHECK(workload_name("line\nbreak \"quoted\"", "comm") == "line\nbreak \"quoted\"");  // escaped where it is written
  CHECK(workload_name("", "comm") == "(no name)");
  CHECK(workload_name("other", "comm") == "other (comm)");
  CHECK(workload_name("unattributed", "rule") == "unattributed (rule)");
  const std::string a = workload_name(std::string(4096, 'x') + "a", "rule");
  const std::string b = workload_name(std::string(4096, 'x') + "b", "rule");
  CHECK(a.size() == kLongestWorkloadName);
  CHECK(a != b);
  for (std::size_t i = 0; i < 4; ++i) {
    std::string accents(i, 'x');
    for (int n = 0; n < 100; ++n) accents += "\u20ac";
    const std::string cut = workload_name(accents, "rule");
    CHECK(cut.size() <= kLongestWorkloadName);
    CHECK(igpu::test::is_valid_utf8(cut));
  }
}

TEST_CASE("a name that is cut and would be reserved cannot be") {
  CHECK(workload_name("other ", "comm") == "other ");
  CHECK(workload_name("Other", "comm") == "Other");
}

TEST_SUITE_END();
