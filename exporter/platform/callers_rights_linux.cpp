// SPDX-License-Identifier: Apache-2.0
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

#include "platform/callers_rights.h"

namespace igpu::exporter {
namespace {

// Made by root only, as part of the container image.
constexpr const char* kTrustsCallers = "/usr/share/intel-gpu-exporter/callers-are-trusted";

struct OwnSets {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> sets{};

  OwnSets() {
    if (::syscall(SYS_capget, &header, sets.data()) != 0)
      throw std::system_error(errno, std::generic_category(), "capget");
  }
  // Returns what was effective before.
  std::uint64_t set_effective(std::uint64_t wanted) {
    const std::uint64_t before = sets[0].effective | std::uint64_t{sets[1].effective} << 32U;
    sets[0].effective = static_cast<std::uint32_t>(wanted);
    sets[1].effective = static_cast<std::uint32_t>(wanted >> 32U);
    if (before != wanted && ::syscall(SYS_capset, &header, sets.data()) != 0)
      throw std::system_error(errno, std::generic_category(), "capset");
    return before;
  }
};

}  // namespace

bool has_rights_of_its_file() {
  // Without capabilities of its file, another user's program has those that are ambient, from a service manager.
  static const bool has = [own = OwnSets()] {
    for (unsigned number = 0; number < 64 && ::getuid() != 0; ++number) {
      const bool permitted = (own.sets[number / 32].permitted >> (number % 32) & 1U) != 0;
      if (permitted && ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, number, 0, 0) != 1)
        return ::access(kTrustsCallers, F_OK) != 0;
    }
    return false;
  }();
  return has;
}

bool is_set_id() { return ::getuid() != ::geteuid() || ::getgid() != ::getegid(); }

CallersRights::CallersRights() {
  if (has_rights_of_its_file()) effective_ = OwnSets().set_effective(0);
}

CallersRights::~CallersRights() {
  if (effective_ != 0) (void)OwnSets().set_effective(effective_);
}

}  // namespace igpu::exporter
