// SPDX-License-Identifier: Apache-2.0
#include "server/sandbox/privileges.h"

#include <grp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>
#include <system_error>

#include "server/sandbox/capabilities.h"

namespace igpu::exporter {
namespace {

LayerOutcome privileges_failed(const char* call) {
  return LayerOutcome::missing(std::string(call) + ": " + std::generic_category().message(errno),
                               "check whether a seccomp profile of the service or container denies prctl");
}

}  // namespace

LayerOutcome forbid_core_dumps() {
  const rlimit none{0, 0};
  (void)::setrlimit(RLIMIT_CORE, &none);  // where it applies, the kernel stops here
  if (::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) return privileges_failed("prctl(PR_SET_DUMPABLE)");
  return LayerOutcome::holds();
}

LayerOutcome forbid_new_privileges() {
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return privileges_failed("prctl(PR_SET_NO_NEW_PRIVS)");
  return LayerOutcome::holds();
}

void become_nobody() {
  constexpr id_t kNobody = 65534;
  constexpr CapabilitySet kNeeded = capability::set(capability::kSetgid) | capability::set(capability::kSetuid);
  // Under a service's filter of system calls an attempt could end the process.
  if (::geteuid() != 0 || (own_capabilities().effective & kNeeded) != kNeeded || ::setgroups(0, nullptr) != 0) return;
  if (::setresgid(kNobody, kNobody, kNobody) == 0) (void)!::setresuid(kNobody, kNobody, kNobody);
}

void wipe_environment() {
  for (char** variable = ::environ; *variable != nullptr; ++variable)
    if (const std::string_view text(*variable); !text.starts_with("RES_OPTIONS=") && !text.starts_with("LOCALDOMAIN="))
      ::explicit_bzero(*variable, text.size());
}

bool leave_files(const std::string& sysfs) {
  // This bus has no drivers, and no link in sysfs goes through their folder.
  return ::chroot((sysfs + "/bus/event_source/drivers").c_str()) == 0 && ::chdir("/") == 0;
}

}  // namespace igpu::exporter
