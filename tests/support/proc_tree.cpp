// SPDX-License-Identifier: Apache-2.0
#include "support/proc_tree.h"

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <vector>

namespace fs = std::filesystem;

namespace igpu::test {
namespace {

// Passes everything on and notes what was read.
class WatchedDirectory final : public Directory {
 public:
  using Counts = std::map<std::string, int, std::less<>>;
  WatchedDirectory(std::unique_ptr<Directory> real, std::string prefix, std::shared_ptr<Counts> counts)
      : real_(std::move(real)), prefix_(std::move(prefix)), counts_(std::move(counts)) {}

  Reading<std::string_view> read(std::string_view path, std::span<char> buffer) const override {
    note(path);
    return real_->read(path, buffer);
  }
  Reading<std::string_view> read_start(std::string_view path, std::span<char> buffer) const override {
    note(path);
    return real_->read_start(path, buffer);
  }
  Reading<std::unique_ptr<File>> open(std::string_view path) const override { return real_->open(path); }
  Reading<std::unique_ptr<Directory>> open_directory(std::string_view path) const override {
    auto opened = real_->open_directory(path);
    if (!opened) return opened;
    return std::unique_ptr<Directory>(
        std::make_unique<WatchedDirectory>(*std::move(opened), prefix_ + "/" + std::string(path), counts_));
  }
  Reading<Unit> for_each(std::string_view path, const std::function<bool(std::string_view)>& visit) const override {
    return real_->for_each(path, visit);
  }
  Reading<std::string> read_link(std::string_view path) const override { return real_->read_link(path); }
  Reading<std::string> resolve(std::string_view path) const override { return real_->resolve(path); }
  Reading<FileFacts> stat(std::string_view path) const override { return real_->stat(path); }

 private:
  void note(std::string_view path) const { ++(*counts_)[prefix_ + "/" + std::string(path)]; }

  std::unique_ptr<Directory> real_;
  std::string prefix_;
  std::shared_ptr<Counts> counts_;
};

class StandingClock final : public Clock {
 public:
  Nanoseconds now() const override {
    now_ += step;
    return now_;
  }
  mutable Nanoseconds now_{std::chrono::seconds(1000)};
  Nanoseconds step{};
};

class NoPerf final : public PerfEvents {
 public:
  Reading<std::unique_ptr<PerfEvent>> open(const PerfEventConfig&, int, PerfEvent*) override {
    return Absent{Reason::kernel, 0};
  }
};
class NoNodes final : public DrmNodes {
 public:
  Reading<std::unique_ptr<DrmNode>> open(std::string_view) override { return Absent{Reason::kernel, 0}; }
};
class NoPrivileges final : public Privileges {
 public:
  bool has_capability(int) const override { return false; }
  std::uint32_t effective_uid() const override { return 0; }
};
class SomeNames final : public Names {
 public:
  std::string pci_device(std::uint16_t, std::uint16_t) const override { return {}; }
  std::string user(std::uint32_t uid) const override { return uid == 1000 ? "alice" : ""; }
};

fs::path temporary_directory() {
  std::string name = (fs::temp_directory_path() / "igpu-proc-XXXXXX").string();
  if (!::mkdtemp(name.data())) throw std::runtime_error("mkdtemp " + name);
  return name;
}

}  // namespace

struct ProcTree::Parts {
  explicit Parts(const fs::path& root)
      : proc(open_root((root / "proc").string()), "proc", counts), sys(open_root((root / "sys").string())),
        dev(open_root((root / "dev").string())) {}

  std::shared_ptr<WatchedDirectory::Counts> counts = std::make_shared<WatchedDirectory::Counts>();
  WatchedDirectory proc;
  std::unique_ptr<Directory> sys, dev;
  NoPerf perf;
  NoNodes nodes;
  StandingClock clock;
  NoPrivileges privileges;
  SomeNames names;
  Machine machine{*sys, proc, *dev, perf, nodes, clock, privileges, names};
};

ProcTree::ProcTree() : root_(temporary_directory()) {
  for (const char* folder : {"proc", "sys", "dev"}) fs::create_directory(root_ / folder);
  parts_ = std::make_unique<Parts>(root_);
}

ProcTree::~ProcTree() {
  parts_.reset();
  std::error_code ignored;
  fs::remove_all(root_, ignored);
}

void ProcTree::write(std::string_view path, std::string_view text) {
  const fs::path full = root_ / path;
  fs::create_directories(full.parent_path());
  std::ofstream(full, std::ios::binary) << text;
}

void ProcTree::add_process(std::uint32_t pid, const ProcessSpec& process) {
  const std::string folder = "proc/" + std::to_string(pid);
  std::ostringstream stat;
  stat << pid << " (" << process.comm << ") S 1 1 1 0 -1 4194304 0 0 0 0 " << process.cpu_ticks
       << " 0 0 0 20 0 1 0 " << process.start_time_ticks << ' ' << process.virtual_bytes << ' ' << process.resident_pages
       << " 18446744073709551615 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n";
  write(folder + "/stat", stat.str());
  std::ostringstream status;
  status << "Name:\tx\nUmask:\t0022\nUid:\t0\t" << process.uid << "\t0\t0\nGid:\t0\t0\t0\t0\n";
  write(folder + "/status", status.str());
  write(folder + "/cgroup", process.cgroup);
  fs::create_directories(root_ / folder / "fdinfo");
}

void ProcTree::remove_process(std::uint32_t pid) { fs::remove_all(root_ / "proc" / std::to_string(pid)); }

void ProcTree::add_file(std::uint32_t pid, std::uint32_t fd, std::string_view fdinfo, std::string_view target) {
  const std::string folder = "proc/" + std::to_string(pid);
  write(folder + "/fdinfo/" + std::to_string(fd), fdinfo);
  const fs::path link = root_ / folder / "fd" / std::to_string(fd);
  fs::remove(link);
  if (target.empty()) return;
  fs::create_directories(link.parent_path());
  fs::create_symlink(target, link);
}

void ProcTree::remove_file(std::uint32_t pid, std::uint32_t fd) {
  fs::remove(root_ / "proc" / std::to_string(pid) / "fdinfo" / std::to_string(fd));
  fs::remove(root_ / "proc" / std::to_string(pid) / "fd" / std::to_string(fd));
}

void ProcTree::add_gpu(std::string_view address, std::string_view driver, std::string_view card, std::string_view render_node) {
  const std::string device = "devices/pci0000:00/" + std::string(address);
  fs::create_directories(root_ / "sys" / device);
  fs::create_symlink("../../../bus/pci/drivers/" + std::string(driver), root_ / "sys" / device / "driver");
  fs::create_directories(root_ / "sys/class/drm");
  for (const std::string_view node : {card, render_node})
    fs::create_symlink("../../" + device + "/drm/" + std::string(node), root_ / "sys/class/drm" / node);
}

void ProcTree::set_self(std::uint32_t pid) { fs::create_symlink(std::to_string(pid), root_ / "proc/self"); }

Machine& ProcTree::machine() { return parts_->machine; }

int ProcTree::reads(std::string_view path) {
  const auto it = parts_->counts->find(path);
  if (it == parts_->counts->end()) return 0;
  return std::exchange(it->second, 0);
}

void ProcTree::move_time(Nanoseconds by) { parts_->clock.now_ += by; }
void ProcTree::set_time_per_look(Nanoseconds step) { parts_->clock.step = step; }

namespace {
std::string block(std::string_view driver, std::string_view address, std::uint64_t client, std::string_view more) {
  std::ostringstream text;
  text << "pos:\t0\nflags:\t02100002\nmnt_id:\t24\nino:\t410\ndrm-driver:\t" << driver << "\ndrm-client-id:\t" << client
       << "\ndrm-pdev:\t" << address << '\n' << more;
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
