// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include "machine/process_id.h"

namespace igpu {

int current_process_id() { return ::getpid(); }

}  // namespace igpu
