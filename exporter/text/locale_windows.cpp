// SPDX-License-Identifier: Apache-2.0
#include "text/locale.h"

namespace igpu::exporter {

// Set for the console when the program starts.
bool select_character_set() { return true; }

}  // namespace igpu::exporter
