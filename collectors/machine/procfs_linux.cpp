// SPDX-License-Identifier: Apache-2.0
#include <linux/magic.h>
#include <sys/vfs.h>

#include "machine/device_users.h"
#include "machine/kernel_messages.h"

namespace igpu {

namespace {

bool is_mount_of(const std::string& folder, long magic) {
  struct ::statfs facts {};
  return ::statfs(folder.c_str(), &facts) == 0 && facts.f_type == magic;
}

}  // namespace

bool is_procfs(const std::string& folder) { return is_mount_of(folder, PROC_SUPER_MAGIC); }
bool is_sysfs(const std::string& folder) { return is_mount_of(folder, SYSFS_MAGIC); }

}  // namespace igpu
