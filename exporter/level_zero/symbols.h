// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>

#include "igpu/level_zero.h"

namespace igpu::exporter {

// Names of code addresses: "function+0x12 (libfoo.so)", with " at file.c:34" where debug information is installed.
// Uses elfutils' libdw if this machine has it; without it the library and the offset are all that is known.
class Symbols {
 public:
  Symbols();
  ~Symbols();

  std::string describe(const LevelZeroFrame& frame);

 private:
  class Library;
  struct Dwarf;
  Library& library(const std::string& path);

  std::unique_ptr<Dwarf> dwarf_;
  std::map<std::string, std::unique_ptr<Library>> libraries_;
};

}  // namespace igpu::exporter
