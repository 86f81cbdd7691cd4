// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <linux/capability.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <iterator>

#include "base/pci_ids.h"
#include "base/scan.h"
#include "machine/machine.h"
#include "machine/unique_fd.h"

namespace igpu {
namespace {

class SystemClock final : public Clock {
 public:
  Nanoseconds now() const override {
    timespec t{};
    ::clock_gettime(CLOCK_MONOTONIC, &t);
    return std::chrono::seconds(t.tv_sec) + Nanoseconds(t.tv_nsec);
  }
};

class SystemPrivileges final : public Privileges {
 public:
  bool has_capability(int number) const override {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    std::array<__user_cap_data_struct, 2> data{};
    if (::syscall(SYS_capget, &header, data.data()) != 0) return false;
    return (data[static_cast<std::size_t>(number) / 32].effective >> (static_cast<unsigned>(number) % 32) & 1u) != 0;
  }
  std::uint32_t effective_uid() const override { return ::geteuid(); }
  bool in_initial_user_namespace() const override { return initial_; }

 private:
  // The initial one maps every id to itself, others a part of them (user_namespaces(7)). We never leave ours.
  static bool maps_every_id() {
    std::array<char, 128> text{};
    const UniqueFd fd(::open("/proc/self/uid_map", O_RDONLY | O_CLOEXEC));
    if (!fd || ::read(fd.get(), text.data(), text.size() - 1) <= 0) return true;  // a kernel without user namespaces
    unsigned long long inside = 0, outside = 0, count = 0;
    return std::sscanf(text.data(), "%llu %llu %llu", &inside, &outside, &count) == 3 && inside == 0 && outside == 0 &&
           count == 4294967295;
  }

  bool initial_ = maps_every_id();
};

// A file's content without a copy on the heap, which would keep that size for ever.
class MappedFile {
 public:
  explicit MappedFile(const char* path) {
    const UniqueFd fd(::open(path, O_RDONLY | O_CLOEXEC));
    struct ::stat facts {};
    if (!fd || ::fstat(fd.get(), &facts) != 0 || facts.st_size <= 0) return;
    void* const address = ::mmap(nullptr, static_cast<std::size_t>(facts.st_size), PROT_READ, MAP_PRIVATE, fd.get(), 0);
    if (address != MAP_FAILED) text_ = {static_cast<const char*>(address), static_cast<std::size_t>(facts.st_size)};
  }
  ~MappedFile() {
    if (!text_.empty()) ::munmap(const_cast<char*>(text_.data()), text_.size());
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::string_view text() const { return text_; }

 private:
  std::string_view text_;
};

class SystemNames final : public Names {
 public:
  std::string pci_device(std::uint16_t vendor, std::uint16_t device) const override {
    // Looked up when a GPU is found, not kept: the list is 1.4 MB.
    for (const char* path : {"/usr/share/misc/pci.ids", "/usr/share/hwdata/pci.ids"}) {
      const MappedFile list(path);
      if (!list.text().empty()) return std::string(pci_device_name(list.text(), vendor, device));
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

}  // namespace

std::unique_ptr<Clock> system_clock() { return std::make_unique<SystemClock>(); }
std::unique_ptr<Privileges> system_privileges() { return std::make_unique<SystemPrivileges>(); }
std::unique_ptr<Names> system_names() { return std::make_unique<SystemNames>(); }

}  // namespace igpu
