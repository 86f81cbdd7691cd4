// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

#include "base/scan.h"
#include "kernel/clients/client_scan.h"
#include "kernel/clients/drm_descriptor.h"
#include "kernel/clients/fdinfo_text.h"
#include "kernel/clients/process.h"

namespace igpu {
namespace {

std::vector<ClientMemory> memory_of(const FdinfoBlock& block) {
  std::vector<ClientMemory> memory;
  memory.reserve(block.regions().size());
  for (const FdinfoRegion& region : block.regions())
    memory.push_back(
        {std::string(region.name), region.total, region.shared, region.active, region.resident, region.purgeable});
  return memory;
}

DrmClient fdinfo_client(const FdinfoBlock& block, std::uint32_t pid, Nanoseconds time) {
  DrmClient client;
  client.device = block.address;
  client.driver = *intel_driver(block.driver);
  client.id = *block.client_id;
  client.pid = pid;
  client.time = time;
  client.engines = block.engines;
  client.memory = memory_of(block);
  return client;
}

// Whether the client is among those from `first` on: copies of a descriptor are the common case of one seen twice.
template <class Client>
bool is_among(const std::vector<Client>& clients, std::size_t first, const FdinfoBlock& block) {
  return std::any_of(clients.begin() + static_cast<std::ptrdiff_t>(first), clients.end(), [&](const Client& client) {
    return client.id == *block.client_id && client.device == block.address;
  });
}

void insert(std::vector<ClientFile>& files, ClientFile file) {
  const auto at = std::ranges::lower_bound(files, file.fd, {}, &ClientFile::fd);
  if (at != files.end() && at->fd == file.fd)
    at->device = std::move(file.device);
  else
    files.insert(at, std::move(file));
}

}  // namespace

void ClientFileReader::begin(std::uint32_t pid, const ClientFiles& known) {
  pid_ = pid;
  known_ = &known;
  directory_.reset();
  first_client_ = scan_.snapshot.clients.size();
  first_npu_client_ = scan_.snapshot.npu_clients.size();
  start_time_.reset();
  links_readable_ = true;
}

// False if the process has ended meanwhile.
bool ClientFileReader::end(ClientFiles& process) {
  known_ = nullptr;
  auto& clients = scan_.snapshot.clients;
  auto& npu_clients = scan_.snapshot.npu_clients;
  if (clients.size() == first_client_ && npu_clients.size() == first_npu_client_) return true;
  // A process is identified by PID and start time; both come from the directory that the clients were read through.
  const bool uses_gpu = clients.size() > first_client_;
  const std::uint64_t page = machine_.privileges.page_size();
  auto facts = uses_gpu ? read_process(*directory_, pid_, users_, scan_.snapshot.time, page)
                        : read_process_stat(*directory_, pid_, page);
  if (!facts) {
    clients.resize(first_client_);
    npu_clients.resize(first_npu_client_);
    process = ClientFiles{};
    return false;
  }
  process.start_time_ticks = facts->start_time_ticks;
  for (std::size_t i = first_npu_client_; i < npu_clients.size(); ++i) npu_clients[i].comm = facts->comm;
  if (uses_gpu) scan_.snapshot.processes.push_back(*std::move(facts));
  return true;
}

bool ClientFileReader::read_all(std::uint32_t pid, ClientFiles& process, std::size_t skip, std::size_t& visited) {
  begin(pid, process);
  ClientFiles found;
  found.start_time_ticks = process.start_time_ticks;
  if (skip > 0) found = process;
  bool stopped = false;
  visited = 0;
  const auto listed = machine_.proc.for_each(NumberedPath({}, pid, "/fdinfo"), [&](std::string_view entry) {
    const auto fd = scan_integer<std::uint32_t>(entry);
    if (!fd) return true;
    if (visited >= skip) {
      const Visit outcome = visit(*fd, false);
      stopped = outcome == Visit::stopped;
      if (!add_file(outcome, *fd, found)) return false;
    }
    ++visited;
    return true;
  });
  if (!listed && listed.is_absent() && listed.absent().reason == Reason::permission) found.denied = true;
  known_ = nullptr;
  const ClientFiles before = std::exchange(process, std::move(found));
  // Files of sleeping GPUs are not read again; they stay known.
  if (end(process) && (stopped || scan_.gpus.has_sleeping_xe()) &&
      process.start_time_ticks == before.start_time_ticks) {
    for (const ClientFile& file : before.files) {
      const auto again = std::ranges::lower_bound(process.files, file.fd, {}, &ClientFile::fd);
      if (again == process.files.end() || again->fd != file.fd) process.files.insert(again, file);
    }
  }
  return !stopped;
}

bool ClientFileReader::read_known(std::uint32_t pid, ClientFiles& process, bool& changed) {
  begin(pid, process);
  ClientFiles found;
  found.denied = process.denied;
  found.silent = process.silent;
  bool stopped = false;
  for (const ClientFile& file : process.files) {
    const Visit outcome = visit(file.fd, true);
    stopped = outcome == Visit::stopped;
    const bool goes_on = add_file(outcome, file.fd, found);
    // While a GPU sleeps its files are not read, and nothing is known about them.
    changed = changed || outcome == Visit::gone || outcome == Visit::denied ||
              (outcome == Visit::nothing && !scan_.gpus.has_sleeping_xe());
    if (!goes_on) break;
  }
  process.denied = found.denied;
  process.skipped = found.skipped;
  process.left_out = found.left_out;
  process.silent = found.silent;
  if (!end(process)) changed = true;
  return !stopped;
}

// False ends the process.
bool ClientFileReader::add_file(Visit visit, std::uint32_t fd, ClientFiles& found) {
  switch (visit) {
    case Visit::unreadable:
      ++found.skipped;
      insert(found.files, {fd, {}});
      return true;
    case Visit::client: insert(found.files, {fd, device_}); return true;
    case Visit::left_out: ++found.left_out; return true;
    case Visit::silent: ++found.silent; return true;
    case Visit::nothing: return true;
    case Visit::denied: found.denied = true; return false;
    case Visit::gone: return directory_ != nullptr;  // one descriptor; without a directory the process
    case Visit::stopped: return false;
  }
  return false;
}

ClientFileReader::Visit ClientFileReader::visit(std::uint32_t fd, bool known_file) {
  const Nanoseconds now = machine_.clock.now();
  if (now >= scan_.deadline) return Visit::stopped;
  if (!directory_) {
    auto directory = machine_.proc.open_directory(NumberedPath({}, pid_));
    if (!directory) return Visit::gone;
    directory_ = *std::move(directory);
  }
  is_accel_ = false;
  if (scan_.gpus.has_sleeping_xe()) {
    if (const auto why = why_not_readable(fd)) return *why;
  } else if (!known_file && is_no_drm_file(fd)) {
    return Visit::nothing;
  }
  std::array<char, 8192> buffer;
  const auto text = directory_->read_start(NumberedPath("fdinfo/", fd), buffer);
  if (!text) {
    if (text.is_failure()) return Visit::unreadable;
    return text.absent().reason == Reason::permission ? Visit::denied : Visit::gone;
  }
  FdinfoBlock block;
  if (!parse_fdinfo(*text, block)) return is_accel_node(fd) ? Visit::silent : Visit::nothing;
  return add_client(block, now);
}

ClientFileReader::Visit ClientFileReader::add_client(const FdinfoBlock& block, Nanoseconds now) {
  switch (kind_of(block)) {
    case FdinfoKind::other_driver: return Visit::nothing;
    case FdinfoKind::incomplete: return Visit::unreadable;
    case FdinfoKind::npu_client: add_npu_client(block); return Visit::client;
    case FdinfoKind::client: break;
  }
  device_ = block.address;
  if (scan_.gpus.is_asleep(block.address)) return Visit::client;
  auto& clients = scan_.snapshot.clients;
  if (!is_among(clients, first_client_, block)) clients.push_back(fdinfo_client(block, pid_, now));
  return Visit::client;
}

void ClientFileReader::add_npu_client(const FdinfoBlock& block) {
  device_ = block.address;
  auto& clients = scan_.snapshot.npu_clients;
  if (!is_among(clients, first_npu_client_, block))
    clients.push_back({std::string(block.address), *block.client_id, pid_, {}, memory_of(block)});
}

// The target of /proc/<pid>/fd/<fd>; nothing without permission (it requires CAP_DAC_READ_SEARCH as well).
std::optional<std::string> ClientFileReader::link_target(std::uint32_t fd) {
  if (!links_readable_) return std::nullopt;
  auto target = directory_->read_link(NumberedPath("fd/", fd));
  if (target) {
    is_accel_ = is_accel_name(last_part(*target));
    return *std::move(target);
  }
  if (target.is_absent() && target.absent().reason == Reason::permission) links_readable_ = false;
  return std::nullopt;
}

// Follows the link of /proc/<pid>/fd to the open file itself, not to what has that path here. In a captured tree the
// link would lead to this machine.
Reading<FileFacts> ClientFileReader::opened_device(std::uint32_t fd) const {
  if (!scan_.live) return Absent{Reason::kernel, ENOENT};
  return directory_->stat(NumberedPath("fd/", fd));
}

// The name alone may be that of any file.
bool ClientFileReader::is_accel_node(std::uint32_t fd) const {
  if (!is_accel_ || !scan_.live) return is_accel_;
  const auto opened = opened_device(fd);
  const auto device = opened ? character_device(*opened) : std::nullopt;
  return device && device->major == kAccelMajor;
}

// Following the link costs a third of opening, reading and closing a file of fdinfo. False where it is unknown.
bool ClientFileReader::is_no_drm_file(std::uint32_t fd) {
  const auto target = link_target(fd);
  if (!target) return false;
  if (!target->starts_with('/')) return true;
  if (has_node_name(*target)) return false;
  if (!may_be_renamed_node(*target)) return true;
  const auto device = opened_device(fd);
  return device && !is_drm_node(*device);
}

// While an xe GPU sleeps.
std::optional<ClientFileReader::Visit> ClientFileReader::why_not_readable(std::uint32_t fd) {
  if (const auto target = link_target(fd)) {
    if (scan_.gpus.is_awake_node(*target)) return std::nullopt;
    if (has_node_name(*target) || !may_be_renamed_node(*target)) return Visit::nothing;
    const auto device = opened_device(fd);
    if (!device) return Visit::left_out;
    if (is_drm_node(*device) && scan_.gpus.is_awake_number(*character_device(*device))) return std::nullopt;
    return Visit::nothing;
  }
  const ClientFile* const earlier = seen_earlier(fd);
  if (!earlier) {
    // Without a link it has been closed meanwhile, or its target is unknown.
    if (!links_readable_ || directory_->stat(NumberedPath("fdinfo/", fd))) return Visit::left_out;
    return Visit::nothing;
  }
  if (scan_.gpus.is_asleep(earlier->device)) return Visit::nothing;
  return std::nullopt;
}

const ClientFile* ClientFileReader::seen_earlier(std::uint32_t fd) {
  const auto& files = known_->files;
  const auto it = std::ranges::lower_bound(files, fd, {}, &ClientFile::fd);
  if (it == files.end() || it->fd != fd || it->device.empty()) return nullptr;
  if (!start_time_) {
    std::array<char, 2048> buffer;
    start_time_ = 0;
    if (const auto text = directory_->read_start("stat", buffer))
      if (const auto stat = parse_process_stat(*text)) start_time_ = stat->start_time_ticks;
  }
  return *start_time_ == known_->start_time_ticks ? &*it : nullptr;
}

}  // namespace igpu
