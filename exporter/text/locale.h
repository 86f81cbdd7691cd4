// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace igpu::exporter {

// Selects the character set of the user's locale for what is printed to a terminal. True: it is UTF-8.
bool select_character_set();

}  // namespace igpu::exporter
