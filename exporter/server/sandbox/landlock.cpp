// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <linux/landlock.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "server/sandbox/sandbox.h"

namespace igpu::exporter {
namespace {

// The kernel's interface grows; the headers used to compile this may be older than the running kernel.
struct RulesetAttributes {
  std::uint64_t handled_files = 0;
  std::uint64_t handled_network = 0;
  std::uint64_t scoped = 0;
};
constexpr std::uint64_t kReadFile = LANDLOCK_ACCESS_FS_READ_FILE;
constexpr std::uint64_t kReadFolder = LANDLOCK_ACCESS_FS_READ_DIR;
constexpr std::uint64_t kWriteFiles =
    LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_REMOVE_FILE;
constexpr std::uint64_t kVersion1 = (1ULL << 13) - 1;  // execute, write, read, make and remove of every kind
constexpr std::uint64_t kRefer = 1ULL << 13;           // 2: link and rename between folders
constexpr std::uint64_t kTruncate = 1ULL << 14;        // 3
constexpr std::uint64_t kDeviceIoctl = 1ULL << 15;     // 5
constexpr std::uint64_t kConnectTcp = 2;               // 4
constexpr std::uint64_t kTcp = kConnectTcp | 1;        // 4: and bind
constexpr std::uint64_t kAbstractSockets = 1;          // 6

std::uint64_t handled_files(int version) {
  std::uint64_t rights = kVersion1;
  if (version >= 2) rights |= kRefer;
  if (version >= 3) rights |= kTruncate;
  if (version >= 5) rights |= kDeviceIoctl;
  return rights;
}

UniqueFd make_ruleset(int version) {
  RulesetAttributes attributes;
  attributes.handled_files = handled_files(version);
  std::size_t size = sizeof attributes.handled_files;
  if (version >= 4) {
    attributes.handled_network = kTcp;
    size += sizeof attributes.handled_network;
  }
  if (version >= 6) {
    attributes.scoped = kAbstractSockets;
    size += sizeof attributes.scoped;
  }
  return UniqueFd(static_cast<int>(::syscall(SYS_landlock_create_ruleset, &attributes, size, 0U)));
}

// A path that does not exist needs no rule. False: denied by the kernel, see errno.
bool allow(int ruleset, const std::string& path, std::uint64_t rights, std::vector<UniqueFd>& held) {
  UniqueFd target(::open(path.c_str(), O_PATH | O_CLOEXEC));
  struct stat facts {};
  if (!target || ::fstat(target.get(), &facts) != 0) return true;
  if (!S_ISDIR(facts.st_mode)) rights &= ~kReadFolder;
  if (rights == 0) return true;
  landlock_path_beneath_attr rule{};
  rule.allowed_access = rights;
  rule.parent_fd = target.get();
  if (::syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0U) != 0) return false;
  struct statfs system {};
  if (::fstatfs(target.get(), &system) == 0 && system.f_type == PROC_SUPER_MAGIC) held.push_back(std::move(target));
  return true;
}

// The kernel's landlock_net_port_attr and LANDLOCK_RULE_NET_PORT, of version 4.
struct PortRule {
  std::uint64_t allowed_access = 0, port = 0;
};
constexpr int kRuleOfPort = 2;

bool allow_connecting(int ruleset, std::uint16_t port) {
  const PortRule rule{kConnectTcp, port};
  return ::syscall(SYS_landlock_add_rule, ruleset, kRuleOfPort, &rule, 0U) == 0;
}

LayerOutcome landlock_failed(const char* call) {
  return LayerOutcome::missing(std::string(call) + ": " + std::generic_category().message(errno),
                               "check whether a seccomp profile of the service or container denies landlock_*");
}

LayerOutcome absent() {
  if (errno == EOPNOTSUPP) {
    return LayerOutcome::missing("this kernel has Landlock, but it is not enabled",
                                 "add landlock to the kernel parameter lsm=, before the other modules");
  }
  if (errno == ENOSYS) {
    return LayerOutcome::missing("this kernel has no Landlock",
                                 "use a kernel built with CONFIG_SECURITY_LANDLOCK (5.13 or newer)");
  }
  return landlock_failed("landlock_create_ruleset");
}

}  // namespace

int landlock_version() {
  const long version = ::syscall(SYS_landlock_create_ruleset, nullptr, 0UL, LANDLOCK_CREATE_RULESET_VERSION);
  return version < 0 ? 0 : static_cast<int>(version);
}

LayerOutcome confine_files(const FileAccess& access, std::vector<UniqueFd>& held) {
  const int version = landlock_version();
  if (version == 0) return absent();
  const UniqueFd ruleset = make_ruleset(version);
  if (!ruleset) return landlock_failed("landlock_create_ruleset");
  const std::uint64_t ioctl = version >= 5 ? kDeviceIoctl : 0;
  const std::pair<const std::vector<std::string>*, std::uint64_t> rights_of[] = {
      {&access.readable, kReadFile | kReadFolder},
      {&access.listable, kReadFolder},
      {&access.devices, kReadFile | kReadFolder | ioctl},
      {&access.writable, kReadFolder | kWriteFiles}};
  for (const auto& [paths, rights] : rights_of)
    for (const std::string& path : *paths)
      if (!allow(ruleset.get(), path, rights, held)) return landlock_failed("landlock_add_rule");
  for (const std::uint16_t port : access.connect_ports) {
    if (version >= 4 && !allow_connecting(ruleset.get(), port)) return landlock_failed("landlock_add_rule");
  }
  if (::syscall(SYS_landlock_restrict_self, ruleset.get(), 0U) != 0) return landlock_failed("landlock_restrict_self");
  std::string detail = "version " + std::to_string(version);
  if (version < 4) detail += ", without network rules";
  return LayerOutcome::holds(std::move(detail));
}

std::vector<std::string> folders_of(const std::string& file) {
  namespace fs = std::filesystem;
  std::vector<std::string> folders;
  if (file.empty()) return folders;
  std::error_code error;
  const fs::path named = fs::absolute(file, error);
  if (error) return folders;
  folders.push_back(named.parent_path().string());
  const fs::path real = fs::canonical(named, error);
  if (!error && real.parent_path() != named.parent_path()) folders.push_back(real.parent_path().string());
  return folders;
}

}  // namespace igpu::exporter
