// SPDX-License-Identifier: Apache-2.0
#include "support/proc_tree.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <map>
#include <span>
#include <sstream>
#include <utility>

#include "support/fake_clock.h"
#include "support/fake_drm_nodes.h"
#include "support/fake_perf_events.h"
#include "support/fake_privileges.h"
#include "support/forwarding_directory.h"

namespace igpu::test {
namespace {

// Passes everything on and notes what was read.
class WatchedDirectory final : public ForwardingDirectory {
 public:
  using Counts = std::map<std::string, int, std::less<>>;
  using Facts = std::map<std::string, FileFacts, std::less<>>;
  WatchedDirectory(std::unique_ptr<Directory> real, std::string prefix, std::shared_ptr<Counts> counts,
                   std::shared_ptr<Facts> facts)
      : ForwardingDirectory(std::move(real)),
        prefix_(std::move(prefix)),
        counts_(std::move(counts)),
        facts_(std::move(facts)) {}

  Reading<std::string_view> read(std::string_view path, std::span<char> buffer) const override {
    note(path);
    return inner().read(path, buffer);
  }
  Reading<std::string_view> read_start(std::string_view path, std::span<char> buffer) const override {
    note(path);
    return inner().read_start(path, buffer);
  }
  Reading<std::unique_ptr<Directory>> open_directory(std::string_view path) const override {
    auto opened = inner().open_directory(path);
    if (!opened) return opened;
    return std::unique_ptr<Directory>(
        std::make_unique<WatchedDirectory>(*std::move(opened), prefix_ + "/" + std::string(path), counts_, facts_));
  }
  Reading<FileFacts> stat(std::string_view path) const override {
    const auto told = facts_->find(prefix_ + "/" + std::string(path));
    return told == facts_->end() ? inner().stat(path) : told->second;
  }

 private:
  void note(std::string_view path) const { ++(*counts_)[prefix_ + "/" + std::string(path)]; }

  std::string prefix_;
  std::shared_ptr<Counts> counts_;
  std::shared_ptr<Facts> facts_;
};

class SteppingClock final : public igpu::Clock {
 public:
  Nanoseconds now() const override {
    now_ += step;
    return now_;
  }
  Reading<Nanoseconds> boot_now() const override { return boot; }
  Nanoseconds step{};
  Nanoseconds boot{};

 private:
  mutable Nanoseconds now_{std::chrono::seconds(1000)};
};

}  // namespace

struct ProcTree::Parts {
  explicit Parts(const MachineTree& tree)
      : sys(open_root(tree.path("sys"))),
        dev(open_root(tree.path("dev"))),
        proc(open_root(tree.path("proc")), "proc", counts, facts) {}

  std::shared_ptr<WatchedDirectory::Counts> counts = std::make_shared<WatchedDirectory::Counts>();
  std::shared_ptr<WatchedDirectory::Facts> facts = std::make_shared<WatchedDirectory::Facts>();
  std::unique_ptr<Directory> sys, dev;
  WatchedDirectory proc;
  SteppingClock clock;
  FakeClock still;
  FakePerfEvents perf{still};
  FakeDrmNodes nodes;
  FakePrivileges privileges;
  FakeNames names;
  Machine machine{*sys, proc, *dev, perf, nodes, clock, privileges, names};
};

ProcTree::ProcTree() : parts_(std::make_unique<Parts>(tree)) {}
ProcTree::~ProcTree() = default;

void ProcTree::set_device(std::string_view path, unsigned major, unsigned minor) {
  (*parts_->facts)[std::string(path)] = {.mode = S_IFCHR | 0660, .rdev = makedev(major, minor), .inode = 1};
}

void ProcTree::end(std::uint32_t pid) {
  const std::string folder = "proc/" + std::to_string(pid);
  tree.remove(folder);
  parts_->facts->erase(folder + "/fd");
}

void ProcTree::set_descriptors(std::uint32_t pid, std::uint64_t inode, std::uint64_t count) {
  const FileFacts facts{.mode = S_IFDIR | 0500, .inode = inode, .size = count};
  (*parts_->facts)["proc/" + std::to_string(pid) + "/fd"] = facts;
  const auto self = parts_->proc.read_link("self");
  if (self && *self == std::to_string(pid)) (*parts_->facts)["proc/self/fd"] = facts;
}

void add_process(MachineTree& tree, std::uint32_t pid, const ProcessSpec& process) {
  const std::string folder = "proc/" + std::to_string(pid);
  std::ostringstream stat;
  stat << pid << " (" << process.comm << ") S 1 1 1 0 -1 4194304 0 0 0 0 " << process.cpu_ticks << " 0 0 0 20 0 1 0 "
       << process.start_time_ticks << ' ' << process.virtual_bytes << ' ' << process.resident_pages
       << " 18446744073709551615 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n";
  tree.write(folder + "/stat", stat.str());
  std::ostringstream status;
  status << "Name:\tx\nUmask:\t0022\nUid:\t0\t" << process.uid << "\t0\t0\nGid:\t0\t0\t0\t0\n";
  tree.write(folder + "/status", status.str());
  tree.write(folder + "/cgroup", process.cgroup);
  tree.make_directory(folder + "/fdinfo");
}

void add_file(MachineTree& tree, std::uint32_t pid, std::uint32_t fd, std::string_view fdinfo,
              std::string_view target) {
  const std::string folder = "proc/" + std::to_string(pid);
  const std::string name = std::to_string(fd);
  tree.write(folder + "/fdinfo/" + name, fdinfo);
  if (target.empty()) {
    tree.remove(folder + "/fd/" + name);
  } else {
    tree.link(folder + "/fd/" + name, std::string(target));
  }
}

void ProcTree::add_gpu(const std::string& address, const std::string& driver, const std::string& card,
                       const std::string& render_node) {
  const std::string device = "devices/pci0000:00/" + address;
  tree.link("sys/" + device + "/driver", "../../../bus/pci/drivers/" + driver);
  for (const std::string& node : {card, render_node})
    tree.link("sys/class/drm/" + node, "../../" + device + "/drm/" + node);
}

Machine& ProcTree::machine() { return parts_->machine; }

int ProcTree::reads(std::string_view path) {
  const auto it = parts_->counts->find(path);
  if (it == parts_->counts->end()) return 0;
  return std::exchange(it->second, 0);
}

void ProcTree::set_time_per_look(Nanoseconds step) { parts_->clock.step = step; }

void ProcTree::set_clock(const std::string& render_node, std::uint32_t hertz) {
  parts_->nodes.add(render_node, xe_clock_of(hertz));
}

void ProcTree::set_boot_time(Nanoseconds boot) { parts_->clock.boot = boot; }

namespace {
std::string block(std::string_view driver, std::string_view address, std::uint64_t client, std::string_view more) {
  std::ostringstream text;
  text << "pos:\t0\nflags:\t02100002\nmnt_id:\t24\nino:\t410\ndrm-driver:\t" << driver << "\ndrm-client-id:\t" << client
       << "\ndrm-pdev:\t" << address << '\n'
       << more;
  return text.str();
}
}  // namespace

std::string i915_block(std::string_view address, std::uint64_t client, std::string_view more) {
  return block("i915", address, client, more);
}
std::string xe_block(std::string_view address, std::uint64_t client, std::string_view more) {
  return block("xe", address, client, more);
}

}  // namespace igpu::test
