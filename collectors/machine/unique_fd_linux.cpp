// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include "igpu/unique_fd.h"

namespace igpu {

void UniqueFd::reset(int fd) {
  if (fd_ >= 0) ::close(fd_);
  fd_ = fd;
}

}  // namespace igpu
