// SPDX-License-Identifier: Apache-2.0
#include "kernel/clients/cgroup_names.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace igpu;

namespace {

const std::string kId = "3f4a1d9b7c0e5a6f8b2d4c1e9f7a0b3c5d6e8f1a2b4c7d9e0f1a3b5c7d9e1f20";
const std::string kOther = "00000000000000000000000000000000000000000000000000000000000000aa";
const std::string kUid = "2c48913c-b29f-11e7-9350-020968147796";
const std::string kSliceUid = "2c48913c_b29f_11e7_9350_020968147796";
const std::string kUser = "/user.slice/user-1000.slice/user@1000.service/";

struct Row {
  std::string path;
  Runtime runtime = Runtime::none;
  std::string container_id;
  std::string pod_uid;
  std::string systemd_unit;
  std::string machine;
};

void check(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    CAPTURE(row.path);
    const CgroupNames names = names_of_cgroup(row.path);
    CHECK(names.runtime == row.runtime);
    CHECK(names.container_id == row.container_id);
    CHECK(names.pod_uid == row.pod_uid);
    CHECK(names.systemd_unit == row.systemd_unit);
    CHECK(names.machine == row.machine);
  }
}

}  // namespace

TEST_SUITE_BEGIN("cgroup names");

TEST_CASE("Docker with the cgroupfs and systemd drivers, rootful and rootless") {
  const std::string scope = "docker-" + kId + ".scope";
  check({
      {"/docker/" + kId, Runtime::docker, kId, "", "", ""},
      {"/docker/" + kId + "/init", Runtime::docker, kId, "", "", ""},
      {"/system.slice/" + scope, Runtime::docker, kId, "", scope, ""},
      {kUser + "user.slice/" + scope, Runtime::docker, kId, "", scope, ""},
      {"/system.slice/" + scope + "/docker/" + kOther, Runtime::docker, kOther, "", scope, ""},
      {"/ecs/0123456789abcdef/" + kId, Runtime::unknown, kId, "", "", ""},
  });
}

TEST_CASE("containerd outside of Kubernetes") {
  const std::string scope = "nerdctl-" + kId + ".scope";
  check({
      {"/system.slice/" + scope, Runtime::containerd, kId, "", scope, ""},
      {"/default/" + kId, Runtime::unknown, kId, "", "", ""},
  });
}

TEST_CASE("the user of a session is the one at the start of the path") {
  CHECK(user_of_cgroup("/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-x.scope") == 1000U);
  CHECK(user_of_cgroup("/user.slice/user-0.slice") == 0U);
  CHECK(user_of_cgroup("/user.slice/user-4294967295.slice/a") == 4294967295U);
  // Whoever has a control group delegated can create such names below it.
  for (const char* path :
       {"", "/", "/system.slice/docker-x.scope", "/user.slice", "/user.slice/user-.slice/a", "/user.slice/user-x.slice",
        "/user.slice/user-4294967296.slice", "/user.slice/user--1.slice", "/user.slice/user-1000.slicex/a",
        "/user.slice/user-1000.scope", "/system.slice/a.service/user.slice/user-1000.slice/b",
        "/lxc.payload.a/user.slice/user-1000.slice/b", "/../user.slice/user-1000.slice/b"}) {
    CAPTURE(path);
    CHECK_FALSE(user_of_cgroup(path));
  }
}

TEST_CASE("Podman rootful, rootless, below a service, and its monitor") {
  const std::string scope = "libpod-" + kId + ".scope";
  check({
      {"/machine.slice/" + scope, Runtime::podman, kId, "", scope, ""},
      {"/machine.slice/" + scope + "/container", Runtime::podman, kId, "", scope, ""},
      {"/libpod_parent/libpod-" + kId, Runtime::podman, kId, "", "", ""},
      {kUser + "user.slice/" + scope, Runtime::podman, kId, "", scope, ""},
      {"/system.slice/stream.service/libpod-payload-" + kId, Runtime::podman, kId, "", "stream.service", ""},
      {"/machine.slice/machine-libpod_pod_" + kOther + ".slice/" + scope, Runtime::podman, kId, "", scope, ""},
      {"/machine.slice/libpod-conmon-" + kId + ".scope", Runtime::none, "", "", "libpod-conmon-" + kId + ".scope", ""},
  });
}

TEST_CASE("Kubernetes: all QoS classes, both cgroup drivers, containerd and CRI-O") {
  for (const std::string qos : {"", "burstable", "besteffort"}) {
    const std::string folder = "/kubepods/" + (qos.empty() ? "" : qos + "/") + "pod" + kUid + "/";
    const std::string infix = qos.empty() ? "" : "-" + qos;
    const std::string slice = "/kubepods.slice/" + (qos.empty() ? "" : "kubepods" + infix + ".slice/") + "kubepods" +
                              infix + "-pod" + kSliceUid + ".slice";
    const std::string containerd = "cri-containerd-" + kId + ".scope";
    const std::string crio = "crio-" + kId + ".scope";
    check({
        {folder + kId, Runtime::unknown, kId, kUid, "", ""},
        {folder + "crio-" + kId, Runtime::cri_o, kId, kUid, "", ""},
        {"/kubelet" + folder + kId, Runtime::unknown, kId, kUid, "", ""},
        {slice + "/" + containerd, Runtime::containerd, kId, kUid, containerd, ""},
        {slice + "/" + crio, Runtime::cri_o, kId, kUid, crio, ""},
        {slice + "/" + crio + "/container", Runtime::cri_o, kId, kUid, crio, ""},
        {slice + "/crio-conmon-" + kId + ".scope", Runtime::none, "", kUid, "crio-conmon-" + kId + ".scope", ""},
        {slice + "/docker-" + kId + ".scope", Runtime::docker, kId, kUid, "docker-" + kId + ".scope", ""},
        {"/system.slice/containerd.service/kubepods" + infix + "-pod" + kSliceUid + ".slice:cri-containerd:" + kId,
         Runtime::containerd, kId, kUid, "containerd.service", ""},
        // kubelet within a container (kind): the node's own container precedes it.
        {"/docker/" + kOther + "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods" + infix + "-pod" + kSliceUid +
             ".slice/" + containerd,
         Runtime::containerd, kId, kUid, containerd, ""},
    });
  }
  const std::string hash = "0123456789abcdef0123456789abcdef";
  check({{"/kubepods/burstable/pod" + hash + "/" + kId, Runtime::unknown, kId, hash, "", ""}});
}

TEST_CASE("LXC, LXD, Incus and Proxmox") {
  check({
      {"/lxc.payload.media", Runtime::lxc, "", "", "", "media"},
      {"/lxc.payload.media/system.slice/jellyfin.service", Runtime::lxc, "", "", "jellyfin.service", "media"},
      {"/lxc/101/ns/system.slice/plex.service", Runtime::lxc, "", "", "plex.service", "101"},
      {"/lxc/101/ns/system.slice/docker-" + kId + ".scope", Runtime::docker, kId, "", "docker-" + kId + ".scope",
       "101"},
      {"/lxc.monitor.media", Runtime::none, "", "", "", ""},
      {"/lxc.monitor/101", Runtime::none, "", "", "", ""},
      {"/lxc", Runtime::none, "", "", "", ""},
      {"/lxc/", Runtime::none, "", "", "", ""},
  });
}

TEST_CASE("systemd-nspawn and other machines of systemd-machined") {
  check({
      {"/machine.slice/systemd-nspawn@build\\x2dbox.service/payload/system.slice/x.service", Runtime::nspawn, "", "",
       "x.service", "build-box"},
      {"/machine.slice/machine-debian.scope", Runtime::nspawn, "", "", "machine-debian.scope", "debian"},
      {"/machine.slice/machine-.scope", Runtime::none, "", "", "machine-.scope", ""},
  });
}

TEST_CASE("virtual machines of libvirt and Proxmox") {
  const std::string scope = "machine-qemu\\x2d12\\x2dwin\\x2d11.scope";
  check({
      {"/machine.slice/" + scope, Runtime::qemu, "", "", scope, "win-11"},
      {"/machine.slice/" + scope + "/libvirt/vcpu0", Runtime::qemu, "", "", scope, "win-11"},
      {"/machine.slice/machine-qemu\\x2dold.scope", Runtime::qemu, "", "", "machine-qemu\\x2dold.scope", "old"},
      {"/machine/qemu-3-guest.libvirt-qemu/emulator", Runtime::qemu, "", "", "", "guest"},
      {"/machine/guest.libvirt-qemu", Runtime::qemu, "", "", "", "guest"},
      {"/machine/lxc-3-box.libvirt-lxc", Runtime::lxc, "", "", "", "box"},
      {"/qemu.slice/101.scope", Runtime::qemu, "", "", "101.scope", "101"},
      // KubeVirt: a machine within a pod.
      {"/kubepods/burstable/pod" + kUid + "/" + kId + "/machine/qemu-1-default_vm.libvirt-qemu", Runtime::qemu, kId,
       kUid, "", "default_vm"},
  });
}

TEST_CASE("services and scopes of systemd, and the root") {
  check({
      {"/", Runtime::none, "", "", "", ""},
      {"", Runtime::none, "", "", "", ""},
      {"/init.scope", Runtime::none, "", "", "init.scope", ""},
      {"/system.slice/packager@channel7.service", Runtime::none, "", "", "packager@channel7.service", ""},
      {"/user.slice/user-1000.slice/session-2.scope", Runtime::none, "", "", "session-2.scope", ""},
      {kUser + "app.slice/app-mpv.scope", Runtime::none, "", "", "app-mpv.scope", ""},
  });
}

TEST_CASE("an escape that systemd would not write stays as it is") {
  check({
      {"/machine.slice/machine-a\\x2.scope", Runtime::nspawn, "", "", "machine-a\\x2.scope", "a\\x2"},
      {"/machine.slice/machine-a\\xZZ.scope", Runtime::nspawn, "", "", "machine-a\\xZZ.scope", "a\\xZZ"},
  });
}

TEST_CASE("container ids of all runtimes") {
  const std::string paths[] = {
      "/docker/" + kId,
      "/system.slice/docker-" + kId + ".scope",
      "/machine.slice/libpod-" + kId + ".scope",
      "/machine.slice/libpod-" + kId + ".scope/container",
      "/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" + kId + ".scope",
      "/kubepods/burstable/pod2c48913c-b29f-11e7-9350-020968147796/" + kId,
      "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod2c48913c_b29f_11e7_9350_020968147796.slice/"
      "cri-containerd-" +
          kId + ".scope",
      "/kubepods.slice/kubepods-pod2c48913c_b29f_11e7_9350_020968147796.slice/crio-" + kId + ".scope",
      "/system.slice/containerd.service/"
      "kubepods-besteffort-pod2c48913c_b29f_11e7_9350_020968147796.slice:cri-containerd:" +
          kId,
      "/docker/" + kOther + "/docker/" + kId,  // a container in a container: the inner one
      "/ecs/0123456789abcdef/" + kId,
  };
  for (const std::string& path : paths) {
    CAPTURE(path);
    CHECK(names_of_cgroup(path).container_id == kId);
  }
}

TEST_CASE("what only resembles a container id is rejected") {
  for (const std::string& path :
       {std::string("/"), std::string("/user.slice/session-2.scope"), std::string("/docker"), "/a" + kId,
        "/docker-" + kId.substr(1) + ".scope", "/docker-" + kId + ".service", "/libpod-conmon-" + kId + ".scope",
        "/crio-conmon-" + kId + ".scope", "/docker-" + std::string(64, 'Z') + ".scope"}) {
    CAPTURE(path);
    CHECK(names_of_cgroup(path).container_id == "");
  }
}

TEST_CASE("pod uids are printed as Kubernetes prints them") {
  const std::string uid = "2c48913c-b29f-11e7-9350-020968147796";
  CHECK(names_of_cgroup("/kubepods/besteffort/pod" + uid + "/" + kId).pod_uid == uid);
  CHECK(names_of_cgroup("/kubepods/pod" + uid).pod_uid == uid);
  CHECK(names_of_cgroup("/kubepods.slice/kubepods-pod2c48913c_b29f_11e7_9350_020968147796.slice/crio-" + kId + ".scope")
            .pod_uid == uid);
  CHECK(names_of_cgroup("/system.slice/containerd.service/"
                        "kubepods-burstable-pod2c48913c_b29f_11e7_9350_020968147796.slice:cri-containerd:" +
                        kId)
            .pod_uid == uid);
  CHECK(names_of_cgroup("/kubepods/burstable/pod0123456789abcdef0123456789abcdef/" + kId).pod_uid ==
        "0123456789abcdef0123456789abcdef");
  for (const std::string path :
       {"/machine.slice/machine-libpod_pod_abc.slice", "/tripod2c48913c-b29f-11e7-9350-020968147796", "/pod", "/pod-1",
        "/kubepods/pod2c48913c-b29f-11e7-9350"}) {
    CAPTURE(path);
    CHECK(names_of_cgroup(path).pod_uid == "");
  }
}

TEST_CASE("the innermost unit is the systemd unit") {
  CHECK(names_of_cgroup("/system.slice/jellyfin.service").systemd_unit == "jellyfin.service");
  CHECK(
      names_of_cgroup("/user.slice/user-1000.slice/user@1000.service/app.slice/app-gnome-mpv-77.scope").systemd_unit ==
      "app-gnome-mpv-77.scope");
  CHECK(names_of_cgroup("/system.slice/docker-" + kId + ".scope/init").systemd_unit == "docker-" + kId + ".scope");
  CHECK(names_of_cgroup("/docker/" + kId).systemd_unit == "");
}

TEST_CASE(
    "the most specific cgroup: where a container shows, else the unified one, else systemd's, else any, else the "
    "root") {
  const std::string docker = "/docker/" + kId;
  CHECK(most_specific_cgroup("0::/system.slice/ssh.service\n") == "/system.slice/ssh.service");
  CHECK(most_specific_cgroup("5:memory:" + docker +
                             "\n1:name=systemd:/init.scope\n0::/system.slice/containerd.service\n") == docker);
  CHECK(most_specific_cgroup("5:memory:" + docker + "\n0::" + docker + "/init\n") == docker + "/init");
  CHECK(most_specific_cgroup("5:memory:/build\n1:name=systemd:/user.slice/session-2.scope\n0::/\n") ==
        "/user.slice/session-2.scope");
  CHECK(most_specific_cgroup("5:memory:/build\n1:name=systemd:/\n") == "/build");
  CHECK(most_specific_cgroup("0::/\n") == "/");
  CHECK(most_specific_cgroup("0::/a:b.service (deleted)\n") == "/a:b.service");
  CHECK(most_specific_cgroup("") == "");
  CHECK(most_specific_cgroup("no colon\n::\n0:\n") == "");
}

TEST_CASE("a machine's path is preferred to the unified hierarchy's") {
  CHECK(most_specific_cgroup("5:memory:/lxc/101\n0::/system.slice/pve.service\n") == "/lxc/101");
}

TEST_SUITE_END();
