// SPDX-License-Identifier: Apache-2.0
#include "kernel/sriov/vfio_holders.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/scan.h"
#include "kernel/device/drm_nodes.h"

namespace igpu {
namespace {

constexpr std::string_view kGroups = "/dev/vfio/";
constexpr std::string_view kDevices = "/dev/vfio/devices/";
constexpr std::string_view kDeviceFile = "anon_inode:[vfio-device]";
constexpr std::size_t kFdinfoSize = 4096;

std::uint64_t start_time_of(const Directory& proc, std::uint32_t pid) {
  std::array<char, 2048> buffer;
  const auto text = proc.read_start(NumberedPath({}, pid, "/stat"), buffer);
  const auto stat = text ? parse_process_stat(*text) : std::nullopt;
  return stat ? stat->start_time_ticks : 0;
}

std::string file_of(std::uint32_t pid, std::string_view folder, std::uint32_t fd) {
  return std::to_string(pid) + std::string(folder) + std::to_string(fd);
}

}  // namespace

std::string_view vfio_device_of(std::string_view fdinfo) {
  while (!fdinfo.empty()) {
    std::string_view line = take_line(fdinfo);
    if (take_until(line, ':') != "vfio-device-syspath") continue;
    const std::string_view address = last_part(trim(line));
    return is_pci_address(address) ? address : std::string_view();
  }
  return {};
}

void VfioHolders::describe(const VfDevice& function, Function& known) const {
  known.group = known.device = {};
  if (const auto link = machine_.sys.read_link(function.pci_path + "/iommu_group")) {
    const std::string group(last_part(*link));
    known.group = {std::string(kGroups) + group, device_number(machine_.sys, "class/vfio/" + group + "/dev")};
  }
  const std::string devices = function.pci_path + "/vfio-dev";
  (void)machine_.sys.for_each(devices, [&](std::string_view name) {
    const std::string device(name);
    known.device = {std::string(kDevices) + device, device_number(machine_.sys, devices + "/" + device + "/dev")};
    return false;
  });
}

void VfioHolders::check(Nanoseconds now) {
  for (auto& [address, function] : functions_) {
    if (!function.holder || still_holds(address, function, now)) continue;
    function.holder.reset();
    function.fdinfo.reset();
    function.is_new = true;
  }
}

bool VfioHolders::is_in_use(std::string_view address) const {
  const auto known = functions_.find(address);
  return known != functions_.end() && known->second.holder && known->second.fdinfo;
}

void VfioHolders::follow(std::span<const VfDevice* const> functions, Nanoseconds now) {
  std::erase_if(functions_, [&](const auto& known) {
    return std::ranges::none_of(functions, [&](const VfDevice* function) { return function->address == known.first; });
  });
  bool any_new = false;
  for (const VfDevice* const function : functions)
    any_new = std::exchange(functions_[function->address].is_new, false) || any_new;
  const bool all_held =
      std::ranges::all_of(functions_, [](const auto& known) { return known.second.holder.has_value(); });
  if (all_held) {
    hidden_.reset();
    to_scan_.clear();
    searched_.reset();
    return;
  }
  const bool due = !searched_ || (to_scan_.empty() && now - *searched_ >= kSearchAgain);
  if (any_new || due) begin_search(functions, now);
  search(now);
}

void VfioHolders::begin_search(std::span<const VfDevice* const> functions, Nanoseconds now) {
  searched_ = now;
  const auto self = machine_.proc.read_link("self");
  live_ = self && scan_integer<std::uint32_t>(*self);
  denied_ = links_denied_ = false;
  for (const VfDevice* const function : functions) {
    // The group and the number of the device may be others after the function was bound again.
    Function& known = functions_.find(function->address)->second;
    if (!known.holder) describe(*function, known);
  }
  to_scan_.clear();
  (void)machine_.proc.for_each(".", [&](std::string_view name) {
    if (const auto pid = scan_integer<std::uint32_t>(name)) to_scan_.push_back(*pid);
    return true;
  });
}

bool VfioHolders::is_file_of(const Function& function, std::string_view link, std::uint32_t pid,
                             std::uint32_t fd) const {
  for (const DeviceFile* const file : {&function.group, &function.device}) {
    if (link != file->path) continue;
    if (!live_) return true;
    const auto opened = machine_.proc.stat(file_of(pid, "/fd/", fd));
    return opened && file->number && character_device(*opened) == file->number;
  }
  return false;
}

bool VfioHolders::still_holds(std::string_view address, Function& function, Nanoseconds now) const {
  if (function.fdinfo) {
    std::array<char, kFdinfoSize> buffer;
    const auto text = function.fdinfo->read(buffer);
    return text && vfio_device_of(*text) == address;
  }
  const ClientProcess& process = function.holder->process;
  // Another process under the same PID hardly has the same file under the same number.
  if (now - function.checked >= kSearchAgain) {
    if (start_time_of(machine_.proc, process.pid) != process.start_time_ticks) return false;
    function.checked = now;
  }
  const auto link = machine_.proc.read_link(file_of(process.pid, "/fd/", function.fd));
  return link && is_file_of(function, *link, process.pid, function.fd);
}

void VfioHolders::search(Nanoseconds now) {
  const bool was_under_way = !to_scan_.empty();
  const Nanoseconds deadline = machine_.clock.now() + kLongestScan;
  while (!to_scan_.empty() && machine_.clock.now() <= deadline) {
    scan_process(to_scan_.back(), now);
    to_scan_.pop_back();
  }
  if (!was_under_way || !to_scan_.empty()) return;
  if (denied_) {
    hidden_ = Absent{Reason::permission, EACCES};
  } else if (links_denied_) {
    hidden_ = Absent{Reason::permission, EPERM};
  } else if (!shows_all_processes(machine_.proc)) {
    hidden_ = Absent{Reason::permission, ENOENT};
  } else {
    hidden_.reset();
  }
}

// Which function the file shows; null: none that is wanted.
VfioHolders::Function* VfioHolders::held_by(std::uint32_t pid, std::uint32_t fd) {
  const auto link = machine_.proc.read_link(file_of(pid, "/fd/", fd));
  if (link && link->starts_with(kGroups)) {
    for (auto& [address, function] : functions_) {
      if (function.holder || !is_file_of(function, *link, pid, fd)) continue;
      function.fdinfo.reset();
      return &function;
    }
    return nullptr;
  }
  // Without the right to read links every file may be one.
  const bool unknown = link.is_absent() && link.absent().reason == Reason::permission;
  if (!unknown && !(link && *link == kDeviceFile)) return nullptr;
  const std::string path = file_of(pid, "/fdinfo/", fd);
  std::array<char, kFdinfoSize> buffer;
  const auto text = machine_.proc.read_start(path, buffer);
  if (!text) {
    denied_ = denied_ || (text.is_absent() && text.absent().reason == Reason::permission);
    return nullptr;
  }
  const auto known = functions_.find(vfio_device_of(*text));
  if (known != functions_.end()) {
    if (known->second.holder) return nullptr;
    auto file = machine_.proc.open(path);
    if (!file) return nullptr;  // it has just been closed
    known->second.fdinfo = *std::move(file);
    return &known->second;
  }
  links_denied_ = links_denied_ || unknown;  // it may be the file of a group
  return nullptr;
}

void VfioHolders::scan_process(std::uint32_t pid, Nanoseconds now) {
  std::vector<std::uint32_t> files;
  const auto listed = machine_.proc.for_each(NumberedPath({}, pid, "/fdinfo"), [&](std::string_view name) {
    if (const auto fd = scan_integer<std::uint32_t>(name)) files.push_back(*fd);
    return files.size() < kMostFiles;
  });
  if (listed.is_absent() && listed.absent().reason == Reason::permission) denied_ = true;
  for (const std::uint32_t fd : files) {
    // A group may have several functions of the GPU.
    while (Function* const function = held_by(pid, fd)) {
      const auto directory = machine_.proc.open_directory(NumberedPath({}, pid));
      if (!directory) return;
      auto process = read_process(**directory, pid, users_, now, machine_.privileges.page_size());
      if (!process) return;
      function->holder = Holder{*std::move(process), ++serial_};
      function->fd = fd;
      function->checked = now;
    }
  }
}

const VfioHolders::Holder* VfioHolders::holder_of(std::string_view address) const {
  const auto known = functions_.find(address);
  return known == functions_.end() || !known->second.holder ? nullptr : &*known->second.holder;
}

}  // namespace igpu
