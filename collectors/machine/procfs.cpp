// SPDX-License-Identifier: Apache-2.0
#include <linux/magic.h>
#include <sys/vfs.h>

#include "machine/device_users.h"

namespace igpu {

bool is_procfs(const std::string& folder) {
  struct ::statfs facts {};
  return ::statfs(folder.c_str(), &facts) == 0 && facts.f_type == PROC_SUPER_MAGIC;
}

}  // namespace igpu
