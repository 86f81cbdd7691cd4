// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "igpu/units.h"

namespace igpu {

int current_process_id();                 // of the caller; a fork changes it
Nanoseconds processor_time();             // that this process has used
void name_this_thread(const char* name);  // for ps and top; at most 15 characters

}  // namespace igpu
