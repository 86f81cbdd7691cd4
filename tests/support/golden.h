// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace igpu::test {

// IGPU_UPDATE=1 in the environment: files are rewritten, and the difference is read in the commit.
bool updates_goldens();

// The text is the content of this file, a path below the source folder. Of a difference the first line is shown.
void compare_with_golden(const std::string& file, const std::string& text);

}  // namespace igpu::test
