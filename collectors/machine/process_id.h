// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace igpu {

int current_process_id();  // of the caller; a fork changes it

}  // namespace igpu
