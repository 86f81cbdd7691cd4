// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace igpu::exporter {

// Call first in main(). Opens standard descriptors that the parent has closed, so that no later file gets their numbers
// and, with them, log lines. Turns off the translation of line ends.
void prepare_standard_streams();

// Blocks until the text is written. False on failure.
bool write_to_stderr(std::string_view text);

// Width of the terminal on standard output. 0: it is none.
int terminal_columns();

// Selects the character set of the user's locale for what is printed to a terminal. True: it is UTF-8.
bool select_character_set();

}  // namespace igpu::exporter
