// SPDX-License-Identifier: Apache-2.0
#include <linux/capability.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <iterator>

#include "base/pci_ids.h"
#include "base/scan.h"
#include "machine/machine.h"

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
};

class SystemNames final : public Names {
 public:
  std::string pci_device(std::uint16_t vendor, std::uint16_t device) const override {
    // Looked up when a GPU is found, not kept: the list is 1.4 MB.
    for (const char* path : {"/usr/share/misc/pci.ids", "/usr/share/hwdata/pci.ids"}) {
      const std::string text = content(path);
      if (!text.empty()) return std::string(pci_device_name(text, vendor, device));
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
