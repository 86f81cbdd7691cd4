// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// Names of containers, pods, units and machines from the path of a control group. Pure: text in, names out.
//
// The formats are those that the programs write themselves: runc and crun ("docker-<id>.scope" below systemd,
// "docker/<id>" otherwise), containerd and CRI-O below kubelet (both cgroup drivers), Podman with and without root, LXC
// and Incus ("lxc.payload.<name>"), systemd-nspawn, libvirt ("machine-qemu\x2d<number>\x2d<name>.scope") and Proxmox
// ("qemu.slice/<number>.scope"). Anyone can create a cgroup of any name, so a name proves nothing.
namespace igpu {

enum class Runtime {
  none,
  unknown,  // a 64-digit id without a sign of its runtime (kubelet with the driver cgroupfs)
  docker,
  containerd,
  cri_o,
  podman,
  lxc,  // also LXD, Incus and Proxmox, which start their containers with LXC, and libvirt's own
  nspawn,
  qemu,  // virtual machines of libvirt and Proxmox
};

constexpr std::size_t kContainerIdLength = 64;  // hex digits

struct CgroupNames {
  Runtime runtime = Runtime::none;  // of the innermost container or machine
  std::string_view container_id;
  std::string pod_uid;            // with "-", as Kubernetes prints it
  std::string_view systemd_unit;  // the innermost *.service or *.scope, as systemd escapes it
  std::string machine;            // LXC container, nspawn machine or VM, by name
};
// A path of /proc/<pid>/cgroup. The names are views into it where no character changes.
CgroupNames names_of_cgroup(std::string_view path);

// The user in whose session a control group is ("/user.slice/user-1000.slice/..."), who alone can create others below
// it. nullopt: in no user's session.
std::optional<std::uint32_t> user_of_cgroup(std::string_view path);

// The most specific path of /proc/<pid>/cgroup: one that names a container or a machine, otherwise that of the unified
// hierarchy, otherwise systemd's own, otherwise any path except the root. "" if the text contains none.
std::string_view most_specific_cgroup(std::string_view text);

}  // namespace igpu
