// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "source/clients.h"

namespace igpu {

// One client may be found in several processes (inherited or passed descriptors): it belongs to the lowest PID. Sorts
// clients and processes.
void keep_one_holder_each(ClientSnapshot& snapshot);

}  // namespace igpu
