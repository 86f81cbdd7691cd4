// SPDX-License-Identifier: Apache-2.0
#include "support/paths.h"

namespace igpu::test {

const std::string& source_folder() {
  static const std::string folder = IGPU_SOURCE_DIR;
  return folder;
}

const std::string& exporter_binary() {
  static const std::string binary = IGPU_EXPORTER_BINARY;
  return binary;
}

std::string test_program(const std::string& name) { return IGPU_TEST_PROGRAMS "/" + name; }

}  // namespace igpu::test
