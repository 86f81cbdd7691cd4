// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace igpu::test {

// Functions and not macros for every file, so that the compiler's cache finds a file's object again in another
// checkout.
const std::string& source_folder();
const std::string& exporter_binary();
std::string test_program(const std::string& name);  // built for the tests

}  // namespace igpu::test
