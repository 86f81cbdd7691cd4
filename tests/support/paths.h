// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace igpu::test {

// Functions and not macros for every file, so that the compiler's cache finds a file's object again in another
// checkout.
const std::string& source_folder();
const std::string& exporter_binary();

}  // namespace igpu::test
