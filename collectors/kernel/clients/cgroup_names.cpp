// SPDX-License-Identifier: Apache-2.0
#include "kernel/clients/cgroup_names.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/scan.h"
#include "igpu/words.h"

namespace igpu {
namespace {

constexpr std::string_view kScope = ".scope";
constexpr std::string_view kService = ".service";

bool is_all_lower_hex(std::string_view text) { return std::ranges::all_of(text, is_lower_hex); }

bool take_suffix(std::string_view& text, std::string_view suffix) {
  if (!text.ends_with(suffix)) return false;
  text.remove_suffix(suffix.size());
  return true;
}

// Prefixes of the id in the last component of a container's path.
struct Prefix {
  std::string_view text;
  Runtime runtime;
};
constexpr std::array<Prefix, 7> kPrefixes{{{"docker-", Runtime::docker},
                                           {"cri-containerd-", Runtime::containerd},
                                           {"cri-containerd:", Runtime::containerd},
                                           {"nerdctl-", Runtime::containerd},
                                           {"crio-", Runtime::cri_o},
                                           {"libpod-", Runtime::podman},
                                           {"libpod-payload-", Runtime::podman}}};

struct Container {
  std::string_view id;
  Runtime runtime = Runtime::none;
};

// "<id>", "docker-<id>.scope", "kubepods-...slice:cri-containerd:<id>", "libpod-payload-<id>". parent: the component
// before this one.
Container container_of(std::string_view component, std::string_view parent) {
  // A container's monitor has a cgroup next to it, with the same id.
  if (component.find("conmon-") != std::string_view::npos) return {};
  take_suffix(component, kScope);
  if (component.size() < kContainerIdLength) return {};
  const std::size_t at = component.size() - kContainerIdLength;
  const std::string_view before = component.substr(0, at);
  if (!before.empty() && before.back() != '-' && before.back() != ':') return {};
  const std::string_view id = component.substr(at);
  if (!is_all_lower_hex(id)) return {};
  for (const Prefix& prefix : kPrefixes)
    if (before.ends_with(prefix.text)) return {id, prefix.runtime};
  if (before.empty() && parent == "docker") return {id, Runtime::docker};
  return {id, Runtime::unknown};
}

// 8-4-4-4-12 hex digits separated by "-" or "_"; or 32 digits in a row (static pods: a hash of their manifest).
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
  if (text.size() >= kHash && ends_at(kHash) && is_all_lower_hex(text.substr(0, kHash)))
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

int hex_digit(char c) { return is_digit(c) ? c - '0' : c - 'a' + 10; }

// systemd escapes a character that a unit's name must not contain as "\x2d".
std::string unescape_unit(std::string_view text) {
  std::string plain;
  plain.reserve(text.size());
  while (!text.empty()) {
    if (text.size() >= 4 && text.starts_with("\\x") && is_lower_hex(text[2]) && is_lower_hex(text[3])) {
      plain += static_cast<char>(hex_digit(text[2]) * 16 + hex_digit(text[3]));
      text.remove_prefix(4);
    } else {
      plain += text.front();
      text.remove_prefix(1);
    }
  }
  return plain;
}

struct MachineName {
  std::string name;
  Runtime runtime = Runtime::none;
};

// libvirt: "<driver>-<number>-<name>"; before 1.3 without the number.
bool take_libvirt(std::string_view text, MachineName& machine) {
  if (take_prefix(text, "qemu-")) {
    machine.runtime = Runtime::qemu;
  } else if (take_prefix(text, "lxc-")) {
    machine.runtime = Runtime::lxc;
  } else {
    return false;
  }
  std::string_view rest = text;
  const std::string_view number = take_until(rest, '-');
  const bool numbered = !rest.empty() && !number.empty() && std::ranges::all_of(number, is_digit);
  machine.name = numbered ? rest : text;
  return true;
}

// The machine that a component names. parent: the component before it, "" for the first.
MachineName machine_of(std::string_view component, std::string_view parent) {
  MachineName machine;
  std::string_view name = component;
  if (take_prefix(name, "lxc.payload.") || (parent == "lxc" && component != "lxc")) {
    machine = {std::string(name), Runtime::lxc};
  } else if (take_prefix(name, "systemd-nspawn@") && take_suffix(name, kService)) {
    machine = {unescape_unit(name), Runtime::nspawn};
  } else if (name = component; take_prefix(name, "machine-") && take_suffix(name, kScope)) {
    const std::string plain = unescape_unit(name);
    if (!take_libvirt(plain, machine)) machine = {plain, Runtime::nspawn};
  } else if (name = component; take_suffix(name, ".libvirt-qemu") || take_suffix(name, ".libvirt-lxc")) {
    if (!take_libvirt(name, machine))
      machine = {std::string(name), component.ends_with("qemu") ? Runtime::qemu : Runtime::lxc};
  } else if (name = component; parent == "qemu.slice" && take_suffix(name, kScope)) {
    machine = {std::string(name), Runtime::qemu};
  }
  if (machine.name.empty()) return {};
  return machine;
}

bool shows_container(std::string_view path) {
  std::string_view parent;
  while (!path.empty()) {
    const std::string_view component = take_until(path, '/');
    if (component.empty()) continue;
    if (!container_of(component, parent).id.empty() || machine_of(component, parent).runtime != Runtime::none)
      return true;
    parent = component;
  }
  return false;
}

}  // namespace

CgroupNames names_of_cgroup(std::string_view path) {
  CgroupNames names;
  std::string_view parent;
  while (!path.empty()) {
    const std::string_view component = take_until(path, '/');
    if (component.empty()) continue;
    if (const Container container = container_of(component, parent); !container.id.empty()) {
      names.container_id = container.id;
      names.runtime = container.runtime;
    }
    if (MachineName machine = machine_of(component, parent); machine.runtime != Runtime::none) {
      names.machine = std::move(machine.name);
      names.runtime = machine.runtime;
    }
    // containerd below systemd joins slice, prefix and id with colons.
    std::string_view slice = component;
    if (std::string uid = pod_uid_of(take_until(slice, ':')); !uid.empty()) names.pod_uid = std::move(uid);
    if (component.ends_with(kService) || component.ends_with(kScope)) names.systemd_unit = component;
    parent = component;
  }
  return names;
}

std::optional<std::uint32_t> user_of_cgroup(std::string_view path) {
  // Only at the start: whoever has a control group delegated can create such names below it.
  if (!take_prefix(path, "/user.slice/user-")) return std::nullopt;
  std::string_view slice = take_until(path, '/');
  if (!take_suffix(slice, ".slice")) return std::nullopt;
  return scan_integer<std::uint32_t>(slice);
}

std::string_view most_specific_cgroup(std::string_view text) {
  std::string_view root, unified, systemd, any, container;
  while (!text.empty()) {
    std::string_view line = take_line(text);
    const std::string_view hierarchy = take_until(line, ':');
    const std::string_view controllers = take_until(line, ':');
    std::string_view path = line;
    take_suffix(path, " (deleted)");
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
    if (container.empty() && shows_container(path)) container = path;
  }
  if (!container.empty()) return !unified.empty() && shows_container(unified) ? unified : container;
  if (!unified.empty()) return unified;
  if (!systemd.empty()) return systemd;
  return any.empty() ? root : any;
}

}  // namespace igpu
