// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

#include "base/scan.h"
#include "igpu/unique_fd.h"
#include "machine/gpu_adapters.h"
#include "machine/machine.h"
#include "machine/pci_ids.h"

namespace igpu {
namespace {

class SystemClock final : public Clock {
 public:
  Nanoseconds now() const override { return read(CLOCK_MONOTONIC); }
  Reading<Nanoseconds> boot_now() const override { return read(CLOCK_BOOTTIME); }

 private:
  static Nanoseconds read(clockid_t clock) {
    timespec t{};
    ::clock_gettime(clock, &t);
    return std::chrono::seconds(t.tv_sec) + Nanoseconds(t.tv_nsec);
  }
};

// Capabilities belong to threads. These are those of the constructing thread, which the collectors' threads inherit: a
// thread that asks later may have dropped its own.
class SystemPrivileges final : public Privileges {
 public:
  SystemPrivileges() {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    if (::syscall(SYS_capget, &header, capabilities_.data()) != 0) capabilities_ = {};
  }
  bool has_capability(int number) const override {
    const auto at = static_cast<std::size_t>(number);
    return (capabilities_[at / 32].effective >> (at % 32) & 1u) != 0;
  }
  std::uint32_t effective_uid() const override { return ::geteuid(); }
  bool in_initial_user_namespace() const override { return initial_; }
  std::uint64_t page_size() const override { return static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)); }

 private:
  // The initial one maps every id to itself, others a part of them (user_namespaces(7)). This process never leaves its
  // own.
  static bool maps_every_id() {
    std::array<char, 128> text{};
    const UniqueFd fd(::open("/proc/self/uid_map", O_RDONLY | O_CLOEXEC));
    if (!fd) return true;                                                   // a kernel without user namespaces
    if (::read(fd.get(), text.data(), text.size() - 1) <= 0) return false;  // one without a map
    unsigned long long inside = 0, outside = 0, count = 0;
    return std::sscanf(text.data(), "%llu %llu %llu", &inside, &outside, &count) == 3 && inside == 0 && outside == 0 &&
           count == 4294967295;
  }

  std::array<__user_cap_data_struct, 2> capabilities_{};
  bool initial_ = maps_every_id();
};

// The device's name in a list of PCI IDs; nullopt: no such list. Read in pieces, because the heap would keep its 1.4 MB
// forever, and not mapped, because the sandbox denies mapping files.
std::optional<std::string> name_in_list(const char* path, std::uint16_t vendor, std::uint16_t device) {
  const UniqueFd fd(::open(path, O_RDONLY | O_CLOEXEC));
  if (!fd) return std::nullopt;
  PciDeviceSearch search(vendor, device);
  std::array<char, 16384> piece;
  std::size_t total = 0;
  for (;;) {
    const ssize_t size = ::read(fd.get(), piece.data(), piece.size());
    if (size < 0 && errno == EINTR) continue;
    if (size > 0) {
      total += static_cast<std::size_t>(size);
      if (search.add({piece.data(), static_cast<std::size_t>(size)})) continue;
      return search.name();
    }
    if (total == 0) return std::nullopt;
    search.end();
    return search.name();
  }
}

class SystemNames final : public Names {
 public:
  std::string pci_device(std::uint16_t vendor, std::uint16_t device) const override {
    // Looked up when a GPU is found, not kept.
    for (const char* path : {"/usr/share/misc/pci.ids", "/usr/share/hwdata/pci.ids"}) {
      if (auto name = name_in_list(path, vendor, device)) return *std::move(name);
    }
    return {};
  }
  std::string user(std::uint32_t uid) const override {
    // The file itself: the C library's look-up would load modules and may ask the network.
    const std::string text = content("/etc/passwd");
    std::string_view rest = text;
    while (!rest.empty()) {
      std::string_view line = take_line(rest);
      const std::string_view name = take_until(line, ':');
      take_until(line, ':');
      if (scan_integer<std::uint32_t>(take_until(line, ':')) == uid) return std::string(name);
    }
    return {};
  }

 private:
  static std::string content(const char* path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
};

class LinuxDrmNode final : public DrmNode {
 public:
  explicit LinuxDrmNode(UniqueFd fd) : fd_(std::move(fd)) {}
  Reading<Unit> ioctl(unsigned long request, void* argument) override {
    // EAGAIN is retried as in libdrm, but not forever.
    for (int attempt = 0; attempt < 100; ++attempt) {
      if (::ioctl(fd_.get(), request, argument) == 0) return Unit{};
      if (errno != EINTR && errno != EAGAIN) break;
    }
    return outcome_of_errno<Unit>(errno, "ioctl of a render node");
  }

 private:
  UniqueFd fd_;
};

class LinuxDrmNodes final : public DrmNodes {
 public:
  explicit LinuxDrmNodes(std::string_view dev_root) : folder_(std::string(dev_root) + "/dri/") {}
  Reading<std::unique_ptr<DrmNode>> open(std::string_view name) override {
    const std::string path = folder_ + std::string(name);
    // Read-only is enough for queries, and the program opens nothing for writing.
    UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
    if (!fd) return outcome_of_errno<std::unique_ptr<DrmNode>>(errno, path);
    return std::unique_ptr<DrmNode>(std::make_unique<LinuxDrmNode>(std::move(fd)));
  }

 private:
  std::string folder_;
};

bool is_mount_of(const std::string& folder, long magic) {
  struct ::statfs facts {};
  return ::statfs(folder.c_str(), &facts) == 0 && facts.f_type == magic;
}

}  // namespace

std::unique_ptr<Clock> system_clock() { return std::make_unique<SystemClock>(); }
std::unique_ptr<Privileges> system_privileges() { return std::make_unique<SystemPrivileges>(); }
std::unique_ptr<Names> system_names() { return std::make_unique<SystemNames>(); }
std::unique_ptr<DrmNodes> system_drm_nodes(std::string_view dev_root) {
  return std::make_unique<LinuxDrmNodes>(dev_root);
}
std::unique_ptr<GpuAdapters> system_gpu_adapters(const GpuLibraries&) { return nullptr; }

bool is_procfs(const std::string& folder) { return is_mount_of(folder, PROC_SUPER_MAGIC); }
bool is_sysfs(const std::string& folder) { return is_mount_of(folder, SYSFS_MAGIC); }

void close_fd(int fd) { ::close(fd); }

}  // namespace igpu
