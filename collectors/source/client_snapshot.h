// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "source/clients.h"

namespace igpu {

// Keeps each client once. Several processes may hold a client (inherited or passed descriptors); it stays with the
// lowest PID. Sorts clients and processes.
void keep_one_holder_each(ClientSnapshot& snapshot);

}  // namespace igpu
