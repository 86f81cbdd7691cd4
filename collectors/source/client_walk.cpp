// SPDX-License-Identifier: Apache-2.0
#include "source/client_walk.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/scan.h"
#include "source/fdinfo.h"
#include "source/process.h"

namespace igpu {
namespace {

using Pid = std::uint32_t;
using Fd = std::uint32_t;
constexpr std::string_view kFdinfo = "/fdinfo";

std::optional<std::uint32_t> scan_id(std::string_view name) {
  if (name.empty() || name.front() < '0' || name.front() > '9') return std::nullopt;  // most of /proc is not a PID
  return scan_integer<std::uint32_t>(name);
}

// Whether a path has the name of a DRM node. Containers may have the nodes outside /dev/dri, usually under the same
// names.
bool has_node_name(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name.starts_with("card") || name.starts_with("renderD");
}

// A device that may be a DRM node under another name. Only in /dev, which is the kernel's own file system: examining
// files elsewhere could hang with their file system.
bool may_be_renamed_node(std::string_view path) {
  return path.starts_with("/dev/") && path != "/dev/null" && !path.starts_with("/dev/pts/") &&
         !path.starts_with("/dev/shm/");
}

constexpr std::uint64_t kDrmMajor = 226;
std::uint64_t major_of(std::uint64_t device) { return (device >> 8 & 0xfff) | (device >> 32 & 0xfffff000); }
std::uint64_t minor_of(std::uint64_t device) { return (device & 0xff) | (device >> 12 & 0xffffff00); }
bool is_drm_node(const FileFacts& file) {
  constexpr std::uint32_t kType = 0170000, kCharacterDevice = 0020000;
  return (file.mode & kType) == kCharacterDevice && major_of(file.rdev) == kDrmMajor;
}

std::string_view last_part(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// A descriptor that showed a client in an earlier walk.
struct KnownFd {
  Pid pid = 0;
  std::uint64_t start_time_ticks = 0;
  Fd fd = 0;
  std::string device;
};
bool is_before(const KnownFd& a, const KnownFd& b) { return std::tie(a.pid, a.fd) < std::tie(b.pid, b.fd); }

// Which files may be read while an xe GPU sleeps.
class SleepGuard {
 public:
  SleepGuard(const Directory& sys, std::span<const std::string> asleep) : asleep_(asleep) {
    if (asleep.empty()) return;
    std::vector<std::string_view> harmless;  // i915: reading its clients touches memory only
    (void)sys.for_each("class/drm", [&](std::string_view name) {
      take_node(sys, name, harmless);
      return true;
    });
    guarding_ = std::any_of(asleep.begin(), asleep.end(), [&](const std::string& address) {
      return std::find(harmless.begin(), harmless.end(), address) == harmless.end();
    });
  }

  // An xe GPU sleeps: only files that are known to belong elsewhere may be read.
  bool guarding() const { return guarding_; }
  bool is_asleep(std::string_view address) const {
    return std::find(asleep_.begin(), asleep_.end(), address) != asleep_.end();
  }
  bool nobody_awake() const { return awake_nodes_.empty(); }
  // target: of /proc/<pid>/fd/<fd>.
  bool is_awake_node(std::string_view target) const {
    return target.starts_with('/') &&
           std::find(awake_nodes_.begin(), awake_nodes_.end(), last_part(target)) != awake_nodes_.end();
  }
  bool is_awake_number(std::uint64_t minor) const {
    return std::find(awake_minors_.begin(), awake_minors_.end(), minor) != awake_minors_.end();
  }

 private:
  void take_node(const Directory& sys, std::string_view name, std::vector<std::string_view>& harmless) {
    const bool is_node =
        (name.starts_with("card") || name.starts_with("renderD")) && name.find('-') == std::string_view::npos;
    if (!is_node) return;
    // "../../devices/pci0000:00/0000:00:02.0/drm/card1"
    const auto link = sys.read_link("class/drm/" + std::string(name));
    if (!link) return;
    const std::size_t begin = link->find("devices/");
    const std::size_t end = link->rfind("/drm/");
    if (begin == std::string::npos || end == std::string::npos || end < begin) return;
    const std::string device = link->substr(begin, end - begin);
    const auto driver_link = sys.read_link(device + "/driver");
    const auto driver = driver_link ? intel_driver(last_part(*driver_link)) : std::nullopt;
    if (!driver) return;
    const auto sleeper = std::find(asleep_.begin(), asleep_.end(), last_part(device));
    if (sleeper == asleep_.end()) {
      awake_nodes_.emplace_back(name);
      std::array<char, 32> buffer;
      const auto number = sys.read("class/drm/" + std::string(name) + "/dev", buffer);  // "226:128"
      if (const auto minor = number ? scan_u64(trim(number->substr(number->find(':') + 1))) : std::nullopt)
        awake_minors_.push_back(*minor);
    } else if (driver == Driver::i915) {
      harmless.push_back(*sleeper);
    }
  }

  std::span<const std::string> asleep_;
  std::vector<std::string> awake_nodes_;
  std::vector<std::uint64_t> awake_minors_;
  bool guarding_ = false;
};

DrmClient client_of(const FdinfoBlock& block, Pid pid, Nanoseconds time) {
  DrmClient client;
  client.device = block.address;
  client.driver = *intel_driver(block.driver);
  client.id = *block.client_id;
  client.pid = pid;
  client.time = time;
  client.engines = block.engines;
  client.memory.reserve(block.regions().size());
  for (const FdinfoRegion& region : block.regions())
    client.memory.push_back(
        {std::string(region.name), region.total, region.shared, region.active, region.resident, region.purgeable});
  return client;
}

}  // namespace

struct ClientWalk::State {
  State(Machine& the_machine, Limits the_limits) : machine(the_machine), limits(the_limits), users(the_machine.names) {}

  Reading<ClientSnapshot> walk(std::span<const std::string> asleep);
  Reading<Unit> list_pids();
  bool visit_process(Pid pid, std::size_t skip);
  bool visit_file(Pid pid, Fd fd);
  std::optional<std::string> link_target(Fd fd);
  Reading<FileFacts> opened_device(Fd fd) const;
  bool is_no_drm_file(Fd fd);
  bool may_read(Pid pid, Fd fd);
  const KnownFd* seen_earlier(Pid pid, Fd fd);
  void keep_one_holder_each();
  bool pids_are_hidden() const;
  bool out_of_time() const { return machine.clock.now() >= deadline; }

  Machine& machine;
  const Limits limits;
  UserNames users;

  // Kept from walk to walk.
  std::vector<KnownFd> known;
  Pid resume_pid = 0;
  std::size_t resume_skip = 0;  // files of it that were seen
  std::size_t usual_clients = 0;

  // State of the current walk.
  ClientSnapshot snapshot;
  std::vector<Pid> order;  // of visits
  std::vector<KnownFd> seen;
  bool is_live_procfs = false;  // it has "self": not a captured tree
  Nanoseconds deadline{};
  const SleepGuard* guard = nullptr;

  // State of the current process.
  struct Current {
    std::unique_ptr<Directory> directory;  // opened at its first file: most processes have no DRM file
    std::size_t first_client = 0;
    std::size_t first_seen = 0;
    std::optional<std::uint64_t> start_time;
    bool denied = false;
    bool links_readable = true;
    bool stopped = false;
    std::size_t files = 0;  // visited, including skipped ones
  } current;
};

ClientWalk::ClientWalk(Machine& machine, Limits limits) : state_(std::make_unique<State>(machine, limits)) {}
ClientWalk::~ClientWalk() = default;

Reading<ClientSnapshot> ClientWalk::walk(std::span<const std::string> asleep) { return state_->walk(asleep); }

Reading<ClientSnapshot> ClientWalk::State::walk(std::span<const std::string> asleep) {
  snapshot = ClientSnapshot{};
  snapshot.time = machine.clock.now();
  deadline = snapshot.time + limits.time;
  snapshot.clients.reserve(usual_clients);
  seen.clear();
  const SleepGuard sleep_guard(machine.sys, asleep);
  guard = &sleep_guard;

  if (const auto listed = list_pids(); !listed) return listed.propagate<ClientSnapshot>();
  snapshot.pids_hidden = pids_are_hidden();

  // While all Intel GPUs sleep there is no client to find.
  if (!(sleep_guard.guarding() && sleep_guard.nobody_awake())) {
    const auto first = std::lower_bound(order.begin(), order.end(), resume_pid);
    // A process whose scan was interrupted: its remaining descriptors first, then the whole process again at the end.
    const bool half = resume_skip > 0 && first != order.end() && *first == resume_pid;
    const std::size_t rest = half ? resume_skip : 0;
    std::rotate(order.begin(), first, order.end());
    if (half) order.push_back(resume_pid);
    resume_pid = 0;
    resume_skip = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const std::size_t skip = i == 0 ? rest : 0;
      current = Current{};
      if (out_of_time() || !visit_process(order[i], skip)) {
        snapshot.complete = false;
        resume_pid = order[i];
        resume_skip = current.stopped ? current.files : skip;
        break;
      }
    }
  }

  // Processes that were not visited keep their entries.
  if (!snapshot.complete || sleep_guard.guarding()) {
    const auto seen_count = static_cast<std::ptrdiff_t>(seen.size());
    std::sort(seen.begin(), seen.end(), is_before);
    for (KnownFd& old : known) {
      const bool again = std::binary_search(seen.begin(), seen.begin() + seen_count, old, is_before);
      if (!again && std::binary_search(snapshot.pids.begin(), snapshot.pids.end(), old.pid))
        seen.push_back(std::move(old));
    }
  }
  std::sort(seen.begin(), seen.end(), is_before);
  std::swap(known, seen);

  usual_clients = snapshot.clients.size();
  keep_one_holder_each();
  guard = nullptr;
  current = Current{};
  snapshot.duration = machine.clock.now() - snapshot.time;
  return std::move(snapshot);
}

Reading<Unit> ClientWalk::State::list_pids() {
  std::optional<Pid> own;
  const auto self = machine.proc.read_link("self");
  is_live_procfs = static_cast<bool>(self);
  if (self) own = scan_id(*self);
  auto& pids = snapshot.pids;
  auto listed = machine.proc.for_each(".", [&pids](std::string_view name) {
    if (const auto pid = scan_id(name)) pids.push_back(*pid);
    return true;
  });
  std::sort(pids.begin(), pids.end());
  order = pids;
  if (own) std::erase(order, *own);
  return listed;
}

// A live procfs whose process 2 is not the kernel's is that of a container, or hides foreign processes (mount option
// hidepid).
bool ClientWalk::State::pids_are_hidden() const {
  if (!is_live_procfs) return false;
  std::array<char, 64> buffer;
  const auto comm = machine.proc.read_start("2/comm", buffer);
  return !comm || trim(*comm) != "kthreadd";
}

// False if the time limit was reached before the whole process was read.
bool ClientWalk::State::visit_process(Pid pid, std::size_t skip) {
  current.first_client = snapshot.clients.size();
  current.first_seen = seen.size();
  ++snapshot.processes_seen;
  struct Visit {
    State& state;
    Pid pid;
    std::size_t skip;
  } visit{*this, pid, skip};
  std::array<char, 32> path;
  char* path_end = std::to_chars(path.data(), path.data() + path.size(), pid).ptr;
  path_end = std::copy(kFdinfo.begin(), kFdinfo.end(), path_end);
  const auto listed = machine.proc.for_each({path.data(), path_end}, [&visit](std::string_view entry) {
    const auto fd = scan_id(entry);
    if (!fd) return true;
    std::size_t& files = visit.state.current.files;
    if (files >= visit.skip && !visit.state.visit_file(visit.pid, *fd)) return false;
    ++files;
    return true;
  });
  if (!listed && listed.is_absent() && listed.absent().reason == Reason::permission) current.denied = true;
  if (current.denied) ++snapshot.processes_denied;

  if (snapshot.clients.size() > current.first_client) {
    // A process is identified by PID and start time; both come from the directory that the clients were read through.
    auto process = read_process(*current.directory, pid, users, snapshot.time);
    if (process) {
      for (std::size_t i = current.first_seen; i < seen.size(); ++i)
        seen[i].start_time_ticks = process->start_time_ticks;
      snapshot.processes.push_back(*std::move(process));
    } else {
      snapshot.clients.resize(current.first_client);
      seen.resize(current.first_seen);
    }
  }
  return !current.stopped;
}

// False ends the listing of the process: the time limit was reached, or none of its files may be read.
bool ClientWalk::State::visit_file(Pid pid, Fd fd) {
  const Nanoseconds now = machine.clock.now();
  if (now >= deadline) {
    current.stopped = true;
    return false;
  }
  if (!current.directory) {
    std::array<char, 16> name;
    const char* name_end = std::to_chars(name.data(), name.data() + name.size(), pid).ptr;
    auto directory = machine.proc.open_directory({name.data(), name_end});
    if (!directory) return false;  // it has ended: normal
    current.directory = *std::move(directory);
  }
  if (guard->guarding() ? !may_read(pid, fd) : is_no_drm_file(fd)) return true;
  std::array<char, 32> path{"fdinfo/"};
  const char* end = std::to_chars(path.data() + 7, path.data() + path.size(), fd).ptr;
  std::array<char, 8192> buffer;
  const auto text = current.directory->read_start({path.data(), end}, buffer);
  if (!text) {
    if (text.is_failure()) ++snapshot.blocks_skipped;
    current.denied = text.is_absent() && text.absent().reason == Reason::permission;
    return !current.denied;
  }
  FdinfoBlock block;
  if (!parse_fdinfo(*text, block)) return true;
  switch (kind_of(block)) {
    case FdinfoKind::other_driver:
      return true;
    case FdinfoKind::incomplete:
      ++snapshot.blocks_skipped;
      return true;
    case FdinfoKind::client:
      break;
  }
  seen.push_back({pid, 0, fd, std::string(block.address)});
  if (guard->is_asleep(block.address)) return true;
  // Copies of a descriptor are the common case of a client seen twice.
  const auto own = snapshot.clients.begin() + static_cast<std::ptrdiff_t>(current.first_client);
  const bool again = std::any_of(own, snapshot.clients.end(), [&](const DrmClient& client) {
    return client.id == *block.client_id && client.device == block.address;
  });
  if (!again) snapshot.clients.push_back(client_of(block, pid, now));
  return true;
}

// The target of /proc/<pid>/fd/<fd>; nothing without permission (it requires CAP_DAC_READ_SEARCH as well).
std::optional<std::string> ClientWalk::State::link_target(Fd fd) {
  if (!current.links_readable) return std::nullopt;
  std::array<char, 32> path{"fd/"};
  const char* end = std::to_chars(path.data() + 3, path.data() + path.size(), fd).ptr;
  auto target = current.directory->read_link({path.data(), end});
  if (target) return *std::move(target);
  if (target.is_absent() && target.absent().reason == Reason::permission) current.links_readable = false;
  return std::nullopt;
}

// Follows the link of /proc/<pid>/fd to the open file itself, not to what has that path here. In a captured tree the
// link would lead to this machine.
Reading<FileFacts> ClientWalk::State::opened_device(Fd fd) const {
  if (!is_live_procfs) return Absent{Reason::kernel, ENOENT};
  std::array<char, 32> path{"fd/"};
  const char* end = std::to_chars(path.data() + 3, path.data() + path.size(), fd).ptr;
  return current.directory->stat({path.data(), end});
}

// Following the link costs a third of opening, reading and closing a file of fdinfo. False where it is unknown.
bool ClientWalk::State::is_no_drm_file(Fd fd) {
  const auto target = link_target(fd);
  if (!target) return false;
  if (!target->starts_with('/')) return true;
  if (has_node_name(*target)) return false;
  if (!may_be_renamed_node(*target)) return true;
  const auto device = opened_device(fd);
  return device && !is_drm_node(*device);
}

// While an xe GPU sleeps.
bool ClientWalk::State::may_read(Pid pid, Fd fd) {
  if (const auto target = link_target(fd)) {
    if (guard->is_awake_node(*target)) return true;
    if (has_node_name(*target) || !may_be_renamed_node(*target)) return false;
    const auto device = opened_device(fd);
    if (!device) ++snapshot.files_left_out;
    return device && is_drm_node(*device) && guard->is_awake_number(minor_of(device->rdev));
  }
  const KnownFd* const earlier = seen_earlier(pid, fd);
  if (!earlier) {
    // Without a link it has been closed meanwhile, or its target is unknown.
    std::array<char, 32> path{"fdinfo/"};
    const char* end = std::to_chars(path.data() + 7, path.data() + path.size(), fd).ptr;
    if (!current.links_readable || current.directory->stat({path.data(), end})) ++snapshot.files_left_out;
    return false;
  }
  return !guard->is_asleep(earlier->device);
}

const KnownFd* ClientWalk::State::seen_earlier(Pid pid, Fd fd) {
  KnownFd wanted;
  wanted.pid = pid;
  wanted.fd = fd;
  const auto it = std::lower_bound(known.begin(), known.end(), wanted, is_before);
  if (it == known.end() || is_before(wanted, *it)) return nullptr;
  if (!current.start_time) {
    std::array<char, 2048> buffer;
    current.start_time = 0;
    if (const auto text = current.directory->read_start("stat", buffer))
      if (const auto stat = parse_process_stat(*text)) current.start_time = stat->start_time_ticks;
  }
  return *current.start_time == it->start_time_ticks ? &*it : nullptr;
}

// One client may be seen in several processes (inherited or passed descriptors): it belongs to the lowest PID.
void ClientWalk::State::keep_one_holder_each() {
  auto& clients = snapshot.clients;
  std::sort(clients.begin(), clients.end(), [](const DrmClient& a, const DrmClient& b) {
    return std::tie(a.device, a.id, a.pid) < std::tie(b.device, b.id, b.pid);
  });
  clients.erase(
      std::unique(clients.begin(), clients.end(),
                  [](const DrmClient& a, const DrmClient& b) { return a.id == b.id && a.device == b.device; }),
      clients.end());
  std::sort(clients.begin(), clients.end(), [](const DrmClient& a, const DrmClient& b) {
    return std::tie(a.device, a.pid, a.id) < std::tie(b.device, b.pid, b.id);
  });
  auto& processes = snapshot.processes;
  std::sort(processes.begin(), processes.end(),
            [](const ClientProcess& a, const ClientProcess& b) { return a.pid < b.pid; });
  processes.erase(std::unique(processes.begin(), processes.end(),
                              [](const ClientProcess& a, const ClientProcess& b) { return a.pid == b.pid; }),
                  processes.end());
  // Processes whose clients all belong to other processes hold none.
  std::vector<Pid> holders;
  holders.reserve(clients.size());
  for (const DrmClient& client : clients) holders.push_back(client.pid);
  std::sort(holders.begin(), holders.end());
  std::erase_if(processes, [&](const ClientProcess& process) {
    return !std::binary_search(holders.begin(), holders.end(), process.pid);
  });
}

}  // namespace igpu
