// SPDX-License-Identifier: Apache-2.0
#include "platform/regular_file.h"

namespace igpu::exporter {

std::string read_regular_file(const RegularFile& file, std::size_t most) {
  if (file.size() > most) throw FileError("larger than " + std::to_string(most >> 20U) + " MiB", 0);
  return file.first(file.size());
}

std::string read_regular_file(const std::string& path, std::size_t most) {
  return read_regular_file(RegularFile(path), most);
}

}  // namespace igpu::exporter
