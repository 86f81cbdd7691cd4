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

}  // namespace igpu::test
