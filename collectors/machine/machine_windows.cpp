// SPDX-License-Identifier: Apache-2.0
//
// What Windows has none of is Absent here, so that collectors that ask for it say so: sysfs, procfs, DRM nodes, perf
// events, the kernel's messages. Its graphics adapters are in gpu_adapters.h.
#include <io.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <system_error>

#include "igpu/unique_fd.h"
#include "machine/interval_timer.h"
#include "machine/machine.h"

namespace igpu {
namespace {

constexpr Absent kNotHere{Reason::kernel, ENOENT};

class SystemClock final : public Clock {
 public:
  Nanoseconds now() const override { return std::chrono::steady_clock::now().time_since_epoch(); }
};

// Capabilities and user ids are Linux's: nothing that asks for one is here.
class NoPrivileges final : public Privileges {
 public:
  bool has_capability(int) const override { return false; }
  std::uint32_t effective_uid() const override { return 65534; }
  bool in_initial_user_namespace() const override { return true; }
};

class NoNames final : public Names {
 public:
  std::string pci_device(std::uint16_t, std::uint16_t) const override { return {}; }
  std::string user(std::uint32_t) const override { return {}; }
};

class EmptyDirectory final : public Directory {
 public:
  Reading<std::string_view> read(std::string_view, std::span<char>) const override { return kNotHere; }
  Reading<std::string_view> read_start(std::string_view, std::span<char>) const override { return kNotHere; }
  Reading<std::unique_ptr<File>> open(std::string_view) const override { return kNotHere; }
  Reading<std::unique_ptr<Directory>> open_directory(std::string_view) const override { return kNotHere; }
  Reading<Unit> for_each(std::string_view, const std::function<bool(std::string_view)>&) const override {
    return kNotHere;
  }
  Reading<std::string> read_link(std::string_view) const override { return kNotHere; }
  Reading<std::string> resolve(std::string_view) const override { return kNotHere; }
  Reading<FileFacts> stat(std::string_view) const override { return kNotHere; }
};

class NoPerfEvents final : public PerfEvents {
 public:
  Reading<std::unique_ptr<PerfEvent>> open(const PerfEventConfig&, int, PerfEvent*) override { return kNotHere; }
};

class NoDrmNodes final : public DrmNodes {
 public:
  Reading<std::unique_ptr<DrmNode>> open(std::string_view) override { return kNotHere; }
};

class NoPageFolder final : public PageFolder {
 public:
  Reading<std::vector<std::string>> names() override { return kNotHere; }
  Reading<PageFacts> facts(std::string_view) override { return kNotHere; }
  Reading<std::unique_ptr<PageFile>> open(std::string_view) override { return kNotHere; }
};

}  // namespace

std::unique_ptr<Clock> system_clock() { return std::make_unique<SystemClock>(); }
std::unique_ptr<Privileges> system_privileges() { return std::make_unique<NoPrivileges>(); }
std::unique_ptr<Names> system_names() { return std::make_unique<NoNames>(); }

// The defaults are not here; a copied tree, whose names have colons and links, could not be.
std::unique_ptr<Directory> open_root(const std::string& root) {
  constexpr std::array<std::string_view, 4> kDefaults{"/sys", "/proc", "/dev", "/"};
  if (std::ranges::find(kDefaults, root) == kDefaults.end())
    throw std::system_error(std::make_error_code(std::errc::not_supported), root);
  return std::make_unique<EmptyDirectory>();
}

bool is_sysfs(const std::string&) { return false; }
bool is_procfs(const std::string&) { return false; }

std::unique_ptr<PerfEvents> system_perf_events() { return std::make_unique<NoPerfEvents>(); }
std::unique_ptr<DrmNodes> system_drm_nodes(std::string_view) { return std::make_unique<NoDrmNodes>(); }
std::unique_ptr<PageFolder> open_page_folder(std::string) { return std::make_unique<NoPageFolder>(); }
Reading<std::unique_ptr<KernelMessages>> open_uevents(bool) { return kNotHere; }
Reading<std::unique_ptr<KernelMessages>> open_kernel_log(const std::string&) { return kNotHere; }

void close_fd(int fd) { ::_close(fd); }

TickTimer::TickTimer(Nanoseconds interval) : interval_(interval), next_(std::chrono::steady_clock::now() + interval) {}

std::uint64_t TickTimer::wait() {
  std::unique_lock lock(mutex_);
  if (changed_.wait_until(lock, next_, [this] { return stopped_; })) return 0;
  const auto missed = (std::chrono::steady_clock::now() - next_) / interval_;
  next_ += interval_ * (1 + missed);
  return 1 + static_cast<std::uint64_t>(missed);
}

void TickTimer::stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  changed_.notify_all();
}

SignalsBlocked::SignalsBlocked() = default;
SignalsBlocked::~SignalsBlocked() = default;

}  // namespace igpu
