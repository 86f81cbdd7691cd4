// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include "igpu/unique_fd.h"

namespace igpu {

void close_fd(int fd) { ::close(fd); }

}  // namespace igpu
